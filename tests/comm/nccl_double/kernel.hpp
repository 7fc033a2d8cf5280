// Private to the double: a group of NCCL's calls as one task on a stream.
#pragma once

#include <vector>

#include "engine.hpp"

namespace lockstep::nccl_double {

struct Call {
  enum class Kind { reduce_scatter, reduce, all_reduce, all_gather, broadcast, send, receive };
  Kind kind;
  const std::byte* from;
  std::byte* to;
  std::size_t count;  // of elements, as the call names it
  ncclDataType_t type;
  ncclRedOp_t op;
  int peer;  // root, or the other rank of a message

  std::size_t bytes() const;
  bool is_message() const { return kind == Kind::send || kind == Kind::receive; }
};

// Reads its operands when it starts, writes its results when all messages are there, and reduces from the
// last rank to the first: not in the tree's order.
class Kernel final : public Task {
 public:
  Kernel(ncclComm_t communicator, std::vector<Call> calls);
  bool step() override;
  bool belongs_to(ncclComm_t communicator) const override { return communicator == communicator_; }

 private:
  using Bytes = std::vector<std::byte>;

  void start();
  void start(const Call& call, std::vector<Bytes>& parts);
  void finish(const Call& call, const std::vector<Bytes>& parts) const;
  void post_send(const std::byte* data, std::size_t bytes, int to);
  void post_receive(Bytes& part, std::size_t bytes, int from);

  ncclComm_t communicator_;
  std::vector<Call> calls_;
  bool started_ = false;
  std::vector<MPI_Request> requests_;
  std::deque<Bytes> sent_;
  std::vector<std::vector<Bytes>> parts_;  // by call, by rank: what that rank contributes
};

}  // namespace lockstep::nccl_double

struct ncclComm {
  int rank = 0;
  int size = 1;
  int tag = 0;
  int polls_left = 0;  // of ncclInProgress; -1 for ever
  std::vector<std::pair<cudaStream_t, std::unique_ptr<lockstep::nccl_double::Kernel>>>
      taken{};  // not yet on a stream
};
