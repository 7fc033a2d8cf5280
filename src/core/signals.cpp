#include "signals.hpp"

#include <atomic>

namespace lockstep {
namespace {

// A handler can reach nothing but a global.
std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

extern "C" void remember_stop(int) {
  stop.store(true, std::memory_order_relaxed);
}

}  // namespace

StopSignals::StopSignals() {
  struct sigaction action {};
  action.sa_handler = remember_stop;
  action.sa_flags = SA_RESTART;  // file and socket calls of others must not see EINTR
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, &old_term_);
  sigaction(SIGUSR1, &action, &old_usr1_);
}

StopSignals::~StopSignals() {
  sigaction(SIGUSR1, &old_usr1_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
}

bool StopSignals::received() noexcept {
  return stop.load(std::memory_order_relaxed);
}

}  // namespace lockstep
