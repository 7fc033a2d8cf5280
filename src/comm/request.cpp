#include "lockstep/comm/request.hpp"

#include <sched.h>

#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "cpu_pause.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/log.hpp"
#include "lockstep/core/runtime.hpp"

namespace lockstep::comm {
namespace {

constexpr double check_every_s = 0.1;
constexpr auto sleep_between_polls = std::chrono::microseconds(50);

std::string report(Operation& operation, const std::string& event) {
  const std::string missing = operation.missing();
  return fmt::format("{} in {}{}", event, operation.what(),
                     missing.empty() ? "" : "; not arrived: " + missing);
}

}  // namespace

Request::Request(std::unique_ptr<Operation> operation, double deadline_s)
    : operation_(std::move(operation)), deadline_s_(deadline_s) {}

Request::Request(Request&&) noexcept = default;

Request& Request::operator=(Request&& other) noexcept {
  if (this == &other) return *this;
  settle();
  operation_ = std::move(other.operation_);
  deadline_s_ = other.deadline_s_;
  return *this;
}

Request::~Request() {
  settle();
}

bool Request::test() {
  if (operation_ == nullptr) return true;
  try {
    if (!operation_->progress()) return false;
  } catch (const std::exception& error) {
    abandon(error.what());
    throw;
  }
  operation_.reset();
  return true;
}

void Request::wait() {
  if (operation_ == nullptr) return;
  const Patience patience = operation_->patience();
  for (int i = 0; i < patience.spins; ++i) {
    if (test()) return;
    cpu_pause();
  }
  wait_slowly(patience.yield_s);
}

void Request::wait_slowly(double yield_s) {
  const double start = now_seconds();
  double next_check = start + check_every_s;
  bool warned = false;
  while (!test()) {
    const double now = now_seconds();
    const double waited = now - start;
    try {
      if (now >= next_check) {
        operation_->check();
        next_check = now + check_every_s;
      }
      if (waited >= deadline_s_) {
        throw CommError(report(*operation_, fmt::format("the deadline of {} s passed", deadline_s_)));
      }
      if (!warned && waited >= deadline_s_ / 2) {
        log::warning(report(*operation_, fmt::format("{:.0f} s of waiting", waited)));
        warned = true;
      }
    } catch (const std::exception& error) {
      abandon(error.what());
      throw;
    }
    if (waited < yield_s) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(sleep_between_polls);
    }
  }
}

void Request::settle() noexcept {
  if (operation_ == nullptr) return;
  // While an exception unwinds, the other ranks may never arrive: waiting would hide the cause behind a hang.
  if (std::uncaught_exceptions() > 0) return abandon("an exception unwound past its Request");
  try {
    wait();
  } catch (const std::exception& error) {
    log::error(error.what());
  }
}

// Other ranks, or MPI, may still write into the operation's buffers: they are left alive, and the job ends
// soon.
void Request::abandon(const std::string& cause) noexcept {
  operation_->give_up(cause);
  static_cast<void>(operation_.release());
}

}  // namespace lockstep::comm
