// Where a run is, beside what the algorithm holds.
#pragma once

#include <cstdint>

#include "history.hpp"
#include "lockstep/algorithms/algorithm.hpp"
#include "lockstep/data/state_view.hpp"

namespace lockstep::app {

struct Counters {
  std::int64_t round = 0;               // rounds finished
  std::int64_t environment_steps = 0;   // of all shards
  std::int64_t horizon = 0;             // rounds planned when the run began; what linear schedules fall over
  std::int64_t evaluation_pending = 0;  // 1: stopped while the last round was being evaluated
};

struct RunState {
  Counters counters;
  History history;
};

// Everything the next round depends on, live: model, optimizer, source, counters. Call source().pack() before
// it is read and source().unpack() after it was written.
StateView run_view(algorithms::Algorithm& algorithm, Counters& counters);

}  // namespace lockstep::app
