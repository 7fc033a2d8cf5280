// The clipped policy objective and entropy bonus of PPO over one leaf, and the partial sums of its metrics.
#pragma once

#include "lockstep/losses/loss.hpp"

namespace lockstep::losses {

struct ObjectiveInputs {
  at::Tensor log_prob, entropy;        // [rows], of the policy that is trained; they carry the gradient
  at::Tensor old_log_prob, advantage;  // [rows]
};

struct ObjectiveSettings {
  double rows = 0;  // of the whole step: what the sums are divided by
  double clip_low = 0.2, clip_high = 0.2;
  double entropy_coefficient = 0.0;
  double advantage_mean = 0.0, advantage_deviation = 1.0;  // A is shifted and divided by them first
};

// With w = log_prob - old_log_prob and its clamp to [log1p(-low), log1p(high)]:
// loss_objective = -sum min(e^w A, e^clamp(w) A) / rows, loss_entropy = -coefficient sum H / rows; and over
// the leaf's rows: clipped (how many w lie outside), log_ratio (sum of w), ratio, ratio_squared (of e^w),
// max_ratio, entropy. In one pass and with one autograd node where all inputs are float32 or float64 in CPU
// memory; elsewhere as `composed`.
Outputs clipped_objective(const ObjectiveInputs& inputs, const ObjectiveSettings& settings);

// The same from LibTorch's operators.
Outputs clipped_objective_composed(const ObjectiveInputs& inputs, const ObjectiveSettings& settings);

}  // namespace lockstep::losses
