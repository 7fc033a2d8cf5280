// The training loop.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "lockstep/checkpoint/checkpoint.hpp"
#include "lockstep/config/deck.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/runtime.hpp"
#include "metrics_file.hpp"
#include "progress.hpp"
#include "run_directory.hpp"
#include "run_state.hpp"

namespace lockstep::app {

class Training {
 public:
  Training(Runtime& runtime, comm::Collectives& collectives, const config::Deck& deck,
           algorithms::Algorithm& algorithm, RunDirectory& directory, RunState& state, MetricsFile* metrics,
           std::int64_t planned_rounds);

  // Collective. Rounds until the plan is done or a stop is agreed; a checkpoint at the end either way.
  // Returns the exit code.
  ExitCode run();

 private:
  bool evaluation_due() const;
  bool checkpoint_due() const;
  std::unique_ptr<rollout::Round> collect();
  History::Row run_round(bool& stop);
  bool evaluate_pending();
  void record();
  void save();

  Runtime& runtime_;
  comm::Collectives& collectives_;
  const config::Deck& deck_;
  algorithms::Algorithm& algorithm_;
  RunState& state_;
  MetricsFile* metrics_;  // rank 0's; null elsewhere
  std::int64_t planned_rounds_;
  std::optional<checkpoint::Writer> writer_;
  Progress progress_;
  std::map<std::string, double> timings_;
  std::int64_t saved_round_ = -1;
};

}  // namespace lockstep::app
