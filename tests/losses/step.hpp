// A step of a loss over leaves, without a learner: totals, forward, backward, merged outputs.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "lockstep/losses/loss.hpp"

namespace lockstep::losses {

struct Step {
  std::map<std::string, double> sums;
  std::map<std::string, at::Tensor> rows;  // row outputs, the leaves' rows in order
  Metrics metrics;
};

inline void merge(Step& step, const std::string& name, const at::Tensor& value) {
  if (is_row_output(name)) {
    at::Tensor& rows = step.rows[name];
    rows = rows.defined() ? at::cat({rows, value}) : value;
    return;
  }
  double& merged = step.sums[name];
  const double number = value.item<double>();
  merged = merges_by_maximum(name) ? std::max(merged, number) : merged + number;
}

// Gradients are left in the module's parameters.
inline Step run_step(Loss& loss, const std::vector<Batch>& leaves) {
  Totals totals;
  for (const Batch& leaf : leaves) loss.add_totals(leaf, totals);
  Step step;
  loss.module().zero_grad();
  for (const Batch& leaf : leaves) {
    at::Tensor sum;
    for (const auto& [name, value] : loss.forward(leaf, totals)) {
      merge(step, name, value);
      if (is_loss(name)) sum = sum.defined() ? sum + value : value;
    }
    sum.backward();
  }
  step.metrics = loss.finish(step.sums, totals);
  return step;
}

// A batch as one leaf, in halves, and with a leaf of a single row.
inline std::vector<std::vector<Batch>> cuts(const Batch& batch) {
  const std::int64_t rows = batch.rows();
  return {{batch},
          {batch.slice(0, rows / 2), batch.slice(rows / 2, rows)},
          {batch.slice(0, 1), batch.slice(1, rows / 3), batch.slice(rows / 3, rows)}};
}

}  // namespace lockstep::losses
