// Clip PPO (Schulman et al., "Proximal Policy Optimization Algorithms", 2017) with value loss and entropy
// bonus.
#pragma once

#include <memory>
#include <optional>

#include "lockstep/losses/clipped_objective.hpp"
#include "lockstep/losses/loss.hpp"
#include "lockstep/losses/value_loss.hpp"
#include "lockstep/nn/actor_critic.hpp"

namespace lockstep::losses {

struct PpoOptions {
  double clip_low = 0.2, clip_high = 0.2;  // ratio clipped to [1 - low, 1 + high]
  std::optional<double> value_clip{};
  double entropy_coefficient = 0.01;
  double value_coefficient = 1.0;
  Distance distance = Distance::smooth_l1;
  bool normalize_advantage = false;  // over the rows of the step, all shards together
};

// Batch entries: observation, action, log_prob, advantage, value_target, and value where value_clip is set;
// all but observation and action are [rows] (a [rows, 1] there is an error, never an outer product), in the
// network's dtype. normalize_advantage: (A - mean) / max(std, 1e-4), std of the sample; with fewer than two
// rows in the step A is left alone. Totals: rows, value_target, and advantage, advantage_squared when it is
// normalised. Outputs loss_objective, loss_entropy, loss_critic (coefficients inside). Metrics: these,
// clip_fraction, kl_approx, ess, entropy, max_ratio, mean_ratio, explained_variance, value_clip_fraction
// (with value_clip); 0 for a step of no rows.
class PpoLoss : public Loss {
 public:
  PpoLoss(std::shared_ptr<nn::ActorCritic> network, const PpoOptions& options);
  torch::nn::Module& module() override;
  void add_totals(const Batch& leaf, Totals& totals) const override;
  Outputs forward(const Batch& leaf, const Totals& totals) override;
  // ess = (sum e^w)^2 / sum e^2w / rows; explained_variance = 1 - var(target - V) / (var(target) + machine
  // epsilon).
  Metrics finish(const std::map<std::string, double>& sums, const Totals& totals) const override;
  // For clip schedules; takes effect at the next step.
  void set_clip(double low, double high) noexcept;

 private:
  std::shared_ptr<nn::ActorCritic> network_;
  PpoOptions options_;
};

}  // namespace lockstep::losses
