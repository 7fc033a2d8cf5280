// Private: a non-blocking NCCL communicator and the stream on which its operations run.
#pragma once

#include <nccl.h>

#include <deque>
#include <functional>
#include <string>

#include "cuda_handles.hpp"

namespace lockstep::comm {

class MpiCollectives;

// NCCL forbids any call but the query of its state while an earlier one is in progress, and a call can be in
// progress until the other ranks arrive. So what is to be launched waits here, and launching never waits for
// another rank. Every error of NCCL, found by a call or by the query, aborts the communicator and is thrown
// as CommError; afterwards every use throws, naming the first cause.
class NcclChannel {
 public:
  // Collective over the ranks that pass the same `id`. Polls until the communicator stands; CommError, and an
  // abort, when `deadline_s` passes first. `purpose` names the channel in errors.
  NcclChannel(const ncclUniqueId& id, int rank, int size, double deadline_s, std::string purpose);
  // On all ranks together: finishes what was launched, until the deadline, then aborts. While an exception
  // unwinds it leaves the communicator to the end of the process.
  ~NcclChannel();
  NcclChannel(const NcclChannel&) = delete;
  NcclChannel& operator=(const NcclChannel&) = delete;

  // Runs `launch`, which may throw, once NCCL takes calls again: now where nothing waits. In the order of the
  // calls.
  using Launch = std::function<void()>;
  void enqueue(Launch launch);
  // Launches what waits, as far as NCCL takes calls; asks for errors.
  void advance();
  bool idle() const noexcept { return waiting_.empty(); }

  // For a Launch: one group of calls that NCCL runs at once. `body` issues them through call().
  void grouped(const std::function<void()>& body);
  // For a Launch: checks what an NCCL call returned.
  void call(ncclResult_t result, const char* name);

  // Ends every operation here, wherever its ranks are: local, waits for no rank.
  void abort(const std::string& cause) noexcept;

  ncclComm_t communicator() const noexcept { return communicator_; }
  cudaStream_t stream() const noexcept { return stream_.get(); }

 private:
  bool takes_calls();  // asks for the state; throws on an error
  void require_alive() const;
  [[noreturn]] void fail(ncclResult_t result, const char* name);
  void await(const char* name);  // until NCCL takes calls or the deadline passes
  void finish();

  std::string purpose_;
  double deadline_s_;
  CudaStream stream_;
  ncclComm_t communicator_ = nullptr;
  bool in_group_ = false;
  std::string aborted_;  // why; empty while it lives
  std::deque<Launch> waiting_;
};

// Collective over `mpi`: rank 0 makes the id and tells every rank. CommError on all ranks where it cannot.
ncclUniqueId share_unique_id(MpiCollectives& mpi);

}  // namespace lockstep::comm
