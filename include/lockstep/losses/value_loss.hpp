// The critic's loss over one leaf, optionally clipped around the collected values, and the partial sums of
// its metrics.
#pragma once

#include <optional>

#include "lockstep/losses/distance.hpp"
#include "lockstep/losses/loss.hpp"

namespace lockstep::losses {

struct ValueInputs {
  at::Tensor value;      // [rows], carries the gradient
  at::Tensor target;     // [rows]
  at::Tensor old_value;  // [rows], read only with a clip
};

struct ValueSettings {
  double rows = 0;  // of the whole step: what the sum is divided by
  double coefficient = 1.0;
  Distance distance = Distance::smooth_l1;
  std::optional<double> clip;
  double target_mean = 0.0;  // over the step; shifts the sums from which variances are formed
};

// loss_critic = coefficient sum max(dist(target, V), dist(target, V_old + clamp(V - V_old, +-clip))) / rows
// (the max only with a clip); and over the leaf's rows: target, target_squared (of target - target_mean),
// residual, residual_squared (of target - V), value_clipped (how many |V - V_old| pass the clip; only with
// one). One pass and one autograd node in CPU memory, elsewhere as `composed`.
Outputs value_loss(const ValueInputs& inputs, const ValueSettings& settings);

// The same from LibTorch's operators.
Outputs value_loss_composed(const ValueInputs& inputs, const ValueSettings& settings);

}  // namespace lockstep::losses
