// OptimizationStepper alone owns loss reduction, backward, accumulation, clipping, the optimizer step and its
// state.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/data/batch.hpp"
#include "lockstep/data/state_view.hpp"
#include "lockstep/learner/flat_optimizer.hpp"
#include "lockstep/learner/flat_store.hpp"
#include "lockstep/losses/loss.hpp"

namespace lockstep::learner {

struct StepperOptions {
  std::int64_t accumulation = 1;  // leaves a shard; a power of two
  double clip_norm = 1.0;         // 0: none
  std::int64_t max_skips = 10;    // steps skipped in a row before the run stops
};

// What a rank wants the others to know; rides on the norm's reduction.
struct Votes {
  bool stop = false;
  bool save_failed = false;
};

// What all ranks agreed on; the same everywhere.
struct Agreement {
  bool finite = true;
  bool stop = false;
  bool save_failed = false;
};

struct StepResult {
  losses::Metrics
      metrics;  // the loss's, and grad_norm (before clipping); empty in a skipped step but for "skipped"
  Agreement agreed;
  bool stepped = false;  // false: the step was skipped
};

class OptimizationStepper {
 public:
  // ContractError when options are out of range or the groups are empty or share a tensor.
  OptimizationStepper(std::vector<ParameterGroup> groups, const StepperOptions& options);
  ~OptimizationStepper();

  const StepperOptions& options() const noexcept;
  const std::vector<ParameterGroup>& groups() const noexcept;
  // Called once by the learner: binds the stepper to where it runs.
  void attach(FlatStore& store, const LeafTree& tree);

  // Collective; one optimizer step over the whole batch, in the order of docs/design.md, section 4.
  StepResult update(losses::Loss& loss, const ShardedBatch& batch, Votes votes);
  // Collective; the loss's metrics over the batch, nothing is trained.
  losses::Metrics evaluate(losses::Loss& loss, const ShardedBatch& batch);

  void set_learning_rate(double learning_rate);  // of every group
  double learning_rate() const;
  std::int64_t steps() const noexcept;    // real ones
  std::int64_t skipped() const noexcept;  // in all
  // Optimizer state and counters.
  StateView state();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::learner
