// NCCL's functions: groups, non-blocking communicators, and kernels on streams.
#include <spdlog/fmt/fmt.h>

#include <cstring>
#include <string>
#include <utility>

#include "kernel.hpp"

namespace {

using namespace lockstep::nccl_double;

int groups_open = 0;
std::vector<Call> grouped;
ncclComm_t group_communicator = nullptr;
cudaStream_t group_stream = nullptr;

// A call that NCCL takes and works on: ncclInProgress as often as the test wants.
ncclResult_t begin(ncclComm_t communicator) {
  communicator->polls_left = behaviour().never_done ? -1 : behaviour().polls_in_progress;
  return communicator->polls_left == 0 ? ncclSuccess : ncclInProgress;
}

void put_on_streams(ncclComm_t communicator) {
  for (auto& [stream, kernel] : communicator->taken) enqueue(stream, std::move(kernel));
  communicator->taken.clear();
}

ncclResult_t take(ncclComm_t communicator, cudaStream_t stream, std::vector<Call> calls) {
  std::size_t messages = 0;
  for (const Call& call : calls) messages += call.is_message() ? 1 : 0;
  if (messages != 0 && messages != calls.size()) violate("a group of messages and collectives");
  communicator->taken.emplace_back(stream, std::make_unique<Kernel>(communicator, std::move(calls)));
  const ncclResult_t result = begin(communicator);
  if (result == ncclSuccess) put_on_streams(communicator);
  return result;
}

bool busy(ncclComm_t communicator, const char* name) {
  if (communicator->polls_left == 0) return false;
  violate(std::string(name) + " while an earlier call is in progress");
  return true;
}

ncclResult_t issue(const char* name, const std::string& detail, ncclComm_t communicator, cudaStream_t stream,
                   const Call& call) {
  note(name + detail);
  if (fails(name)) return behaviour().failure;
  if (busy(communicator, name)) return ncclInvalidUsage;
  if (groups_open == 0) return take(communicator, stream, {call});
  if (!grouped.empty() && communicator != group_communicator) violate("a group over two communicators");
  group_communicator = communicator;
  group_stream = stream;
  grouped.push_back(call);
  return ncclSuccess;
}

Call make(Call::Kind kind, const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
          int peer) {
  return {kind, static_cast<const std::byte*>(from), static_cast<std::byte*>(to), count, type, op, peer};
}

std::string to(int rank) {
  return fmt::format("({})", rank);
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

// The number of the communicator is all that the double needs: it is the tag of its messages.
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  note("ncclGetUniqueId");
  if (fails("ncclGetUniqueId")) return behaviour().failure;
  static int made = 0;
  *id = {};
  ++made;
  std::memcpy(id->internal, &made, sizeof made);
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSystemError ? "unhandled system error" : "an error of the double";
}
const char* ncclGetLastError(ncclComm_t) {
  return "what NCCL says of it";
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  note("ncclCommInitRankConfig");
  if (fails("ncclCommInitRankConfig")) return behaviour().failure;
  if (config->blocking != 0) violate("a blocking communicator, which no deadline can end");
  *communicator = new ncclComm{.rank = rank, .size = size};
  std::memcpy(&(*communicator)->tag, id.internal, sizeof(int));
  return begin(*communicator);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
  progress();
  if (communicator->polls_left > 0 && --communicator->polls_left == 0) put_on_streams(communicator);
  *state = behaviour().later_error != ncclSuccess ? behaviour().later_error
           : communicator->polls_left != 0        ? ncclInProgress
                                                  : ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  note("ncclCommFinalize");
  return busy(communicator, "ncclCommFinalize") ? ncclInvalidUsage : begin(communicator);
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  note("ncclCommDestroy");
  if (busy(communicator, "ncclCommDestroy")) return ncclInvalidUsage;
  delete communicator;
  return ncclSuccess;
}

// The communicator is left alive: kernels that have messages under way still speak of it.
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  note("ncclCommAbort");
  if (groups_open != 0) violate("an abort inside a group");
  drop(communicator);
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  note("ncclGroupStart");
  ++groups_open;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  note("ncclGroupEnd");
  if (--groups_open != 0 || grouped.empty()) return ncclSuccess;
  auto calls = std::exchange(grouped, {});
  if (fails("ncclGroupEnd")) return behaviour().failure;
  return take(group_communicator, group_stream, std::move(calls));
}

ncclResult_t ncclReduceScatter(const void* from, void* into, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t communicator, cudaStream_t stream) {
  return issue("ncclReduceScatter", "", communicator, stream,
               make(Call::Kind::reduce_scatter, from, into, count, type, op, -1));
}

ncclResult_t ncclReduce(const void* from, void* into, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t communicator, cudaStream_t stream) {
  return issue("ncclReduce", to(root), communicator, stream,
               make(Call::Kind::reduce, from, into, count, type, op, root));
}

ncclResult_t ncclAllReduce(const void* from, void* into, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t communicator, cudaStream_t stream) {
  return issue("ncclAllReduce", "", communicator, stream,
               make(Call::Kind::all_reduce, from, into, count, type, op, -1));
}

ncclResult_t ncclAllGather(const void* from, void* into, std::size_t count, ncclDataType_t type,
                           ncclComm_t communicator, cudaStream_t stream) {
  return issue("ncclAllGather", "", communicator, stream,
               make(Call::Kind::all_gather, from, into, count, type, ncclSum, -1));
}

ncclResult_t ncclBroadcast(const void* from, void* into, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t communicator, cudaStream_t stream) {
  return issue("ncclBroadcast", to(root), communicator, stream,
               make(Call::Kind::broadcast, from, into, count, type, ncclSum, root));
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  return issue("ncclSend", to(peer), communicator, stream,
               make(Call::Kind::send, from, nullptr, count, type, ncclSum, peer));
}

ncclResult_t ncclRecv(void* into, std::size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
  return issue("ncclRecv", to(peer), communicator, stream,
               make(Call::Kind::receive, nullptr, into, count, type, ncclSum, peer));
}

}  // extern "C"
