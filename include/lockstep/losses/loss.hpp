// A loss: sums over a leaf divided by totals of the whole step that are known before backward. It knows
// nothing of ranks.
#pragma once

#include <torch/nn/module.h>

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
// starts with "max_", by maximum (not below 0, which is a leaf's value when it has no rows).
using Outputs = std::vector<std::pair<std::string, at::Tensor>>;

inline bool is_loss(std::string_view name) noexcept {
  return name.starts_with("loss");
}
inline bool merges_by_maximum(std::string_view name) noexcept {
  return name.starts_with("max_");
}

// Finished numbers for people.
using Metrics = std::map<std::string, double>;

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
};

}  // namespace lockstep::losses
