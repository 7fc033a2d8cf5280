// Means over the rows of a step, weighted where the batch has weights (prioritized replay), and what the
// losses over single transitions have in common.
#pragma once

#include "lockstep/losses/loss.hpp"

namespace lockstep::losses {

// Totals "rows" and "weight", the latter the sum of the weights, or the rows where the batch has none. The
// weights [rows] must be of this dtype.
void add_weighted_rows(const Batch& leaf, at::ScalarType type, Totals& totals);

// A leaf's share of a mean: sum over its rows of w x / the step's sum of w; 0 for a step without weight.
class WeightedMean {
 public:
  WeightedMean(const Batch& leaf, at::ScalarType type, const Totals& totals);
  at::Tensor operator()(const at::Tensor& values) const;  // [rows] -> 0-d

 private:
  at::Tensor weight_;  // [rows], or undefined
  double per_weight_;
};

// r + gamma (1 - terminated) next_value, [rows]; a next value that is not finite does no harm where
// terminated.
at::Tensor bootstrap(const Batch& leaf, const at::Tensor& next_value, double gamma);

// [rows] -> 0-d float64.
at::Tensor row_sum(const at::Tensor& values);

// Outputs q, target, td_error (sums), max_td_error and row_td_error of a leaf; all [rows].
void add_value_outputs(const at::Tensor& q, const at::Tensor& target, const at::Tensor& td_error,
                       Outputs& outputs);
// From them the metrics q_mean, target_mean, td_error_mean and max_td_error; 0 for a step without rows.
void add_value_metrics(const std::map<std::string, double>& sums, const Totals& totals, Metrics& metrics);

}  // namespace lockstep::losses
