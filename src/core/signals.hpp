// Private to core: SIGTERM and SIGUSR1 set a flag and do nothing else.
#pragma once

#include <csignal>

namespace lockstep {

class StopSignals {
 public:
  StopSignals();   // arms the handlers
  ~StopSignals();  // puts back what was there
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  static bool received() noexcept;

 private:
  struct sigaction old_term_ {};
  struct sigaction old_usr1_ {};
};

}  // namespace lockstep
