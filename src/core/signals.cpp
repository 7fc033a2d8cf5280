#include "signals.hpp"

#include <atomic>
#include <csignal>

namespace lockstep {
namespace {

// A handler can reach nothing but a global.
std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

extern "C" void remember_stop(int number) {
  const bool again = stop.exchange(true, std::memory_order_relaxed);
  // Who presses Ctrl-C twice does not want to wait for the round's end.
  if (again && number == SIGINT) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
}

}  // namespace

StopSignals::StopSignals() {
  struct sigaction action {};
  action.sa_handler = remember_stop;
  action.sa_flags = SA_RESTART;  // file and socket calls of others must not see EINTR
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, &old_term_);
  sigaction(SIGUSR1, &action, &old_usr1_);
  sigaction(SIGINT, &action, &old_int_);
}

StopSignals::~StopSignals() {
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGUSR1, &old_usr1_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
}

bool StopSignals::received() noexcept {
  return stop.load(std::memory_order_relaxed);
}

}  // namespace lockstep
