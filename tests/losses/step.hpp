// A step of a loss over leaves, without a learner: totals, forward, backward, merged outputs.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "lockstep/losses/loss.hpp"

namespace lockstep::losses {

struct Step {
  std::map<std::string, double> sums;
  Metrics metrics;
};

// Gradients are left in the module's parameters.
inline Step run_step(Loss& loss, const std::vector<Batch>& leaves) {
  Totals totals;
  for (const Batch& leaf : leaves) loss.add_totals(leaf, totals);
  Step step;
  loss.module().zero_grad();
  for (const Batch& leaf : leaves) {
    at::Tensor sum;
    for (const auto& [name, value] : loss.forward(leaf, totals)) {
      double& merged = step.sums[name];
      const double number = value.item<double>();
      merged = merges_by_maximum(name) ? std::max(merged, number) : merged + number;
      if (is_loss(name)) sum = sum.defined() ? sum + value : value;
    }
    sum.backward();
  }
  step.metrics = loss.finish(step.sums, totals);
  return step;
}

}  // namespace lockstep::losses
