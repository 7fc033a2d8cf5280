// OptimizationStepper alone owns loss reduction, backward, accumulation, clipping, mixed precision, the
// optimizer step and its state.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/data/batch.hpp"
#include "lockstep/data/state_view.hpp"
#include "lockstep/learner/flat_optimizer.hpp"
#include "lockstep/learner/parameter_group.hpp"
#include "lockstep/learner/store.hpp"
#include "lockstep/losses/loss.hpp"

namespace lockstep::learner {

// What autocast computes the forward in; parameters, gradients and the step keep their own type.
// float16 scales the loss, since its gradients could vanish.
enum class Precision : std::uint8_t { float32, bfloat16, float16 };
Precision precision_from(const std::string& name);  // InputError listing the known ones

struct StepperOptions {
  std::int64_t accumulation = 1;  // leaves a shard; a power of two
  double clip_norm = 1.0;         // of all groups that have none of their own, together; 0: none
  std::int64_t max_skips = 10;    // steps skipped in a row before the run stops
  Precision precision = Precision::float32;
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

// A shard's row outputs of the loss ("row_td_error"), in the shard's row order.
using RowOutputs = std::map<std::string, at::Tensor>;

struct StepResult {
  // The loss's, and grad_norm (of all groups, before clipping; grad_norm_<group> where a group that got
  // gradients is clipped on its own). Only "skipped" in a skipped step; no grad_norm while a window is open.
  losses::Metrics metrics;
  Agreement agreed;
  bool stepped = false;            // false: skipped, or the window is still open
  std::vector<RowOutputs> rows{};  // one a shard of this rank's; of the last call
};

class OptimizationStepper {
 public:
  // ContractError when options are out of range, or the groups are empty, share a tensor or a name.
  OptimizationStepper(std::vector<ParameterGroup> groups, const StepperOptions& options);
  virtual ~OptimizationStepper();

  const StepperOptions& options() const noexcept;
  const std::vector<ParameterGroup>& groups() const noexcept;
  // Called once by the learner: binds the stepper to where it runs. ContractError when the loss does not give
  // a loss that a group names, or the stepper belongs to a learner already.
  void attach(Store& store, std::size_t own_shards, losses::Loss& loss);

  // Collective; one optimizer step over the whole batch, in the order of docs/design.md, section 4.
  // ContractError while a window is open.
  StepResult update(losses::Loss& loss, const ShardedBatch& batch, Votes votes);
  // Collective; one micro-batch of every shard. The call that completes `accumulation` of them steps, with
  // gradients that weigh the micro-batches equally (their row counts are unknown until then).
  StepResult accumulate(losses::Loss& loss, const ShardedBatch& micro_batch, Votes votes);
  bool window_open() const noexcept;
  // Collective; the loss's metrics over the batch, nothing is trained.
  losses::Metrics evaluate(losses::Loss& loss, const ShardedBatch& batch);

  // Every group's rate becomes this share of what the group was made with; for schedules.
  void scale_learning_rates(double factor);
  double learning_rate() const;           // of the first group
  std::int64_t steps() const noexcept;    // real ones
  std::int64_t skipped() const noexcept;  // in all
  // Optimizer state and counters. ContractError while a window is open.
  StateView state();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::learner
