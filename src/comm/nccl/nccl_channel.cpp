#include "nccl_channel.hpp"

#include <spdlog/fmt/fmt.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "../mpi_collectives.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/log.hpp"
#include "lockstep/core/runtime.hpp"

namespace lockstep::comm {
namespace {

constexpr auto between_polls = std::chrono::microseconds(100);

}  // namespace

ncclUniqueId share_unique_id(MpiCollectives& mpi) {
  ncclUniqueId id{};
  std::string problem;
  if (mpi.rank() == 0) {
    const ncclResult_t made = ncclGetUniqueId(&id);
    if (made != ncclSuccess) problem = fmt::format("ncclGetUniqueId failed: {}", ncclGetErrorString(made));
  }
  problem = broadcast_text(mpi, std::move(problem), 0);
  if (!problem.empty()) throw CommError("collectives over NCCL: " + problem);
  mpi.broadcast(std::as_writable_bytes(std::span(&id, 1)), 0).wait();
  return id;
}

NcclChannel::NcclChannel(const ncclUniqueId& id, int rank, int size, double deadline_s, std::string purpose)
    : purpose_(std::move(purpose)), deadline_s_(deadline_s) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  call(ncclCommInitRankConfig(&communicator_, size, id, rank, &config), "ncclCommInitRankConfig");
  await("ncclCommInitRankConfig");
}

NcclChannel::~NcclChannel() {
  if (!aborted_.empty() || std::uncaught_exceptions() > 0) return;
  try {
    finish();
  } catch (const std::exception& error) {
    log::error(error.what());
  }
}

void NcclChannel::finish() {
  await("the last operations");
  call(ncclCommFinalize(communicator_), "ncclCommFinalize");
  await("ncclCommFinalize");
  call(ncclCommDestroy(communicator_), "ncclCommDestroy");
}

void NcclChannel::await(const char* name) {
  const double start = now_seconds();
  while (!takes_calls()) {
    if (now_seconds() - start >= deadline_s_) {
      const std::string cause = fmt::format(
          "the deadline of {} s passed in {} of the NCCL communicator for {}", deadline_s_, name, purpose_);
      abort(cause);
      throw CommError(cause);
    }
    std::this_thread::sleep_for(between_polls);
  }
}

void NcclChannel::enqueue(Launch launch) {
  waiting_.push_back(std::move(launch));
  advance();
}

void NcclChannel::advance() {
  while (takes_calls() && !waiting_.empty()) {
    const Launch launch = std::move(waiting_.front());
    waiting_.pop_front();
    launch();
  }
}

bool NcclChannel::takes_calls() {
  require_alive();
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &state);
  if (asked != ncclSuccess) fail(asked, "ncclCommGetAsyncError");
  if (state != ncclSuccess && state != ncclInProgress) fail(state, "an operation");
  return state == ncclSuccess;
}

void NcclChannel::grouped(const std::function<void()>& body) {
  call(ncclGroupStart(), "ncclGroupStart");
  in_group_ = true;
  body();
  in_group_ = false;
  call(ncclGroupEnd(), "ncclGroupEnd");
}

void NcclChannel::call(ncclResult_t result, const char* name) {
  if (result != ncclSuccess && result != ncclInProgress) fail(result, name);
}

void NcclChannel::fail(ncclResult_t result, const char* name) {
  // An open group would swallow every later call of this thread. NCCL's own account of the error goes with
  // the communicator.
  if (std::exchange(in_group_, false)) static_cast<void>(ncclGroupEnd());
  const char* account = ncclGetLastError(communicator_);
  const std::string cause = fmt::format(
      "{} of the NCCL communicator for {} failed: {}{}", name, purpose_, ncclGetErrorString(result),
      account == nullptr || *account == '\0' ? "" : fmt::format(" ({})", account));
  abort(cause);
  throw CommError(cause);
}

void NcclChannel::abort(const std::string& cause) noexcept {
  if (!aborted_.empty()) return;
  aborted_ = cause;
  waiting_.clear();
  if (communicator_ == nullptr) return;
  const ncclResult_t result = ncclCommAbort(communicator_);
  if (result != ncclSuccess && result != ncclInProgress)
    log::error(fmt::format("ncclCommAbort failed: {}", ncclGetErrorString(result)));
}

void NcclChannel::require_alive() const {
  if (aborted_.empty()) return;
  throw CommError(fmt::format("the NCCL communicator for {} was aborted: {}", purpose_, aborted_));
}

}  // namespace lockstep::comm
