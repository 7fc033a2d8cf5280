// Soft actor-critic with two Q networks and a learned temperature (Haarnoja et al., "Soft Actor-Critic
// Algorithms and Applications", 2018).
#pragma once

#include <memory>
#include <optional>

#include "lockstep/losses/distance.hpp"
#include "lockstep/losses/loss.hpp"
#include "lockstep/nn/squashed_actor.hpp"
#include "lockstep/nn/twin_q.hpp"

namespace lockstep::losses {

struct SacOptions {
  double gamma = 0.99;
  double alpha = 1.0;                      // the temperature at the start
  std::optional<double> target_entropy{};  // of the action's density within its bounds; unset: -dimensions
  Distance distance = Distance::smooth_l1;
  double tau = 0.005;             // targets follow by target <- lerp(target, online, tau) ...
  std::int64_t target_every = 1;  // ... after every target_every-th real step
};

// y = r + gamma (1 - terminated) (min_i Q_target_i(s', a') - alpha log pi(a'|s')), a' of noise_next, no
// gradient. With a~ of noise_current, and means weighted, sum w x / sum w over all rows of the step:
// loss_qvalue = mean sum_i dist(Q_i(s, a), y); loss_actor = mean(alpha log pi(a~|s) - min_i Q_i(s, a~)), Q
// and alpha held; loss_alpha = mean(-log_alpha (log pi(a~|s) + target_entropy)), log pi held.
//
// Batch entries: observation, next.observation [rows, o], action, noise_next, noise_current [rows, a], reward
// and, optional, weight [rows], all in the networks' dtype; terminated [rows] bool. A [rows, 1] for a [rows]
// is an error. Totals: rows, weight. Outputs: the losses; sums q (of Q_0), target, log_prob, td_error;
// max_alpha, max_td_error; row_td_error = max_i |Q_i - y|. Metrics: the losses; q_mean, target_mean, entropy
// = -mean log pi(a~|s), alpha, td_error_mean (unweighted); max_td_error. module(): actor.actor.*,
// qvalue.q0.*, qvalue.q1.*, log_alpha (0-d, trained) and the frozen target_qvalue.q0.*, target_qvalue.q1.*.
class SacLoss : public Loss {
 public:
  // Targets start as copies: initialise the networks first, or call reset_targets.
  SacLoss(std::shared_ptr<nn::SquashedActor> actor, std::shared_ptr<nn::TwinQ> qvalue,
          const SacOptions& options);
  torch::nn::Module& module() override { return *module_; }
  void add_totals(const Batch& leaf, Totals& totals) const override;
  Outputs forward(const Batch& leaf, const Totals& totals) override;
  Metrics finish(const std::map<std::string, double>& sums, const Totals& totals) const override;
  TargetUpdate target_update() override;
  std::vector<NoiseEntry> noise() const override;
  std::vector<std::string> loss_names() const override { return {"loss_qvalue", "loss_actor", "loss_alpha"}; }
  void reset_targets();
  const at::Tensor& log_alpha() const noexcept { return log_alpha_; }

 private:
  at::Tensor target_value(const Batch& leaf) const;

  SacOptions options_;
  double target_entropy_;
  std::shared_ptr<nn::SquashedActor> actor_;
  std::shared_ptr<nn::TwinQ> qvalue_, target_;
  std::shared_ptr<torch::nn::Module> module_;
  at::Tensor log_alpha_;
};

}  // namespace lockstep::losses
