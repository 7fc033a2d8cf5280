// A loss: sums over a leaf divided by totals of the whole step that are known before backward. It knows
// nothing of ranks.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockstep/core/exact_sum.hpp"
#include "lockstep/data/batch.hpp"

namespace lockstep::losses {

// Named exact sums over all rows of a step (counts, sums, sums of squares), merged over leaves, shards and
// ranks. The set of names is the same for every batch.
using Totals = std::map<std::string, ExactSum>;

// Named outputs of one leaf, in a fixed order. Those whose name starts with "loss" are 0-d tensors that are
// summed and differentiated: this leaf's share, so that the sum over leaves is the loss. The others are 0-d
// and detached: partial sums, merged over leaves, shards and ranks by exact addition, or, where the name
// starts with "max_", by maximum (not below 0, which is a leaf's value when it has no rows). Outputs whose
// name starts with "row_" are [rows], detached, in the leaf's row order: no metrics and never merged, but
// handed back for each row ("row_td_error", for priorities).
using Outputs = std::vector<std::pair<std::string, at::Tensor>>;

inline bool is_loss(std::string_view name) noexcept {
  return name.starts_with("loss");
}
inline bool merges_by_maximum(std::string_view name) noexcept {
  return name.starts_with("max_");
}
inline bool is_row_output(std::string_view name) noexcept {
  return name.starts_with("row_");
}

// Finished numbers for people.
using Metrics = std::map<std::string, double>;

// What follows the trained tensors: after every `every`-th real step each target t becomes
// t + tau (source - t), and its source itself where tau is 1. The learner does it, since it alone knows where
// tensors live.
struct TargetUpdate {
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs;  // target (no gradient), source of the same shape
  double tau = 1.0;
  std::int64_t every = 1;
};

// Standard normal noise that a leaf needs, [rows, columns]. Where the batch lacks the entry the learner draws
// it from (seed; StreamId::noise, shard, draw) before it cuts leaves, so that neither ranks nor accumulation
// change it.
struct NoiseEntry {
  std::string name;
  std::int64_t columns = 0;
  at::ScalarType dtype = at::kFloat;
};

class Loss {
 public:
  virtual ~Loss() = default;
  // The parameters it differentiates, its targets and buffers; names are the checkpoint's.
  virtual torch::nn::Module& module() = 0;
  // This leaf's contribution to the totals. No gradient.
  virtual void add_totals(const Batch& leaf, Totals& totals) const = 0;
  virtual Outputs forward(const Batch& leaf, const Totals& totals) = 0;
  // From every output merged over all leaves to metrics (ratios are formed here, once). The default copies
  // the losses.
  virtual Metrics finish(const std::map<std::string, double>& sums, const Totals& totals) const;

  // Targets are frozen parameters of module(), so that they are saved with it. None by default.
  virtual TargetUpdate target_update() { return {}; }
  // In the order in which they are drawn. None by default.
  virtual std::vector<NoiseEntry> noise() const { return {}; }
  // The losses it gives, in the order of forward's outputs: what a stepper's groups may name. Empty:
  // undeclared.
  virtual std::vector<std::string> loss_names() const { return {}; }
  // The next forwards compute only these of its losses; an undue one is a zero without a graph. ContractError
  // on an unknown name; the default also where a declared name is missing, since it computes all of them.
  virtual void set_due(const std::vector<std::string>& names);
};

}  // namespace lockstep::losses
