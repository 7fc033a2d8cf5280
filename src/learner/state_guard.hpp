// Finds a flipped bit: hashes of the state at rest, taken after a step and compared before the next one, by
// each rank with its own and among the ranks where they hold the same.
#pragma once

#include <cstdint>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/data/state_view.hpp"

namespace lockstep::learner {

class StateGuard {
 public:
  // `replicated`: whether every rank holds all of model and loss, so that their hashes must agree.
  StateGuard(comm::Collectives& collectives, bool replicated)
      : collectives_(collectives), replicated_(replicated) {}

  // Local. Remembers the state as it is now.
  void remember(const StateView& state);
  // Forgets: what follows was changed on purpose.
  void forget() noexcept { armed_ = false; }
  // Collective; nothing unless `remember` came before it, on all ranks. NumericError on all ranks that names
  // those whose state changed since, or those that hold other bits than most.
  void verify(const StateView& state);

 private:
  struct Hashes {
    std::uint64_t own = 0;     // of all that this rank holds
    std::uint64_t shared = 0;  // of what all ranks hold alike
  };
  Hashes hash(const StateView& state) const;

  comm::Collectives& collectives_;
  bool replicated_;
  bool armed_ = false;
  Hashes remembered_;
};

}  // namespace lockstep::learner
