// A double of NCCL and the CUDA runtime for machines without a GPU: it defines those of their functions that
// the backend calls, on host memory, and is linked in their place. Ranks exchange values over MPI.
//
// Streams are deferred: what is enqueued runs only while the program asks CUDA or NCCL for a state, in any
// order that the recorded events allow. A wait that is missing, a buffer that is reused too early or an event
// that is recorded before NCCL took the calls gives wrong values. A send completes only when it is received,
// so that messages which need a group and have none never end.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <functional>
#include <string>
#include <vector>

namespace lockstep::nccl_double {

// How the next calls behave; a test sets what it needs after start().
struct Behaviour {
  int devices = 8;
  bool one_device_for_all = false;  // every device has the same address on the bus
  // How often NCCL answers ncclInProgress after a call before it is done; only then is the work on its
  // stream.
  int polls_in_progress = 0;
  bool never_done = false;    // ncclInProgress for ever
  bool kernels_hang = false;  // communication on streams never ends
  std::string failing_call;   // this call returns `failure`
  ncclResult_t failure = ncclSystemError;
  ncclResult_t later_error = ncclSuccess;  // what the query of the state finds
  // Work of this stream is put off as long as other work can run, and longer than NCCL takes over a call.
  cudaStream_t late_stream = nullptr;
};

// Collective over all ranks. Ends what an earlier test left; Behaviour{} again; the schedule's seed.
void start(unsigned seed);
Behaviour& behaviour();

// Calls that change something, in their order, as "ncclSend(1)" or "cudaEventRecord(default)"; streams are
// numbered as they are made. clear_calls() empties it.
const std::vector<std::string>& calls();
void clear_calls();
// Broken rules of NCCL or CUDA, as sentences.
const std::vector<std::string>& violations();

// Enqueues `work` on `stream`, as a kernel would be; written down as `name`.
void launch(cudaStream_t stream, const std::string& name, std::function<void()> work);

}  // namespace lockstep::nccl_double
