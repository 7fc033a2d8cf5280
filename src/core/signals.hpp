// Private to core: SIGTERM, SIGUSR1 and SIGINT set a flag and do nothing else; a second SIGINT ends the
// process.
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
  struct sigaction old_int_ {};
};

}  // namespace lockstep
