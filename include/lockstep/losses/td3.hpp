// Twin delayed deep deterministic policy gradient (Fujimoto et al., "Addressing Function Approximation Error
// in Actor-Critic Methods", 2018).
#pragma once

#include <memory>

#include "lockstep/losses/distance.hpp"
#include "lockstep/losses/loss.hpp"
#include "lockstep/nn/deterministic_actor.hpp"
#include "lockstep/nn/twin_q.hpp"

namespace lockstep::losses {

struct Td3Options {
  double gamma = 0.99;
  double policy_noise = 0.2;  // sigma of the next action's noise, in the action's units
  double noise_clip = 0.5;    // in the same units
  Distance distance = Distance::smooth_l1;
  double tau = 0.005;             // targets follow by target <- lerp(target, online, tau) ...
  std::int64_t target_every = 2;  // ... after every target_every-th real step: the actor's delay
};

// a' = clamp(mu_target(s') + clamp(sigma eps, +-clip), bounds), eps = noise_next; y = r + gamma (1 -
// terminated) min_i Q_target_i(s', a'), no gradient. Means are weighted, sum w x / sum w over all rows of the
// step: loss_qvalue = mean sum_i dist(Q_i(s, a), y); loss_actor = -mean Q_0(s, mu(s)), Q held. Where
// loss_actor is not due it is a zero without a graph and the actor's forward is left out.
//
// Batch entries: observation, next.observation [rows, o], action, noise_next [rows, a], reward and, optional,
// weight [rows], all in the networks' dtype; terminated [rows] bool. A [rows, 1] for a [rows] is an error.
// Totals: rows, weight. Outputs: the losses; sums q (of Q_0), target, td_error; max_td_error; row_td_error =
// max_i (Q_i - y)^2. Metrics: the losses, loss_actor only where it was due; q_mean, target_mean,
// td_error_mean (unweighted); max_td_error. module(): actor.actor.*, qvalue.q0.*, qvalue.q1.* and the frozen
// target_actor.actor.*, target_qvalue.q0.*, target_qvalue.q1.*.
class Td3Loss : public Loss {
 public:
  // Targets start as copies: initialise the networks first, or call reset_targets.
  Td3Loss(std::shared_ptr<nn::DeterministicActor> actor, std::shared_ptr<nn::TwinQ> qvalue,
          const Td3Options& options);
  torch::nn::Module& module() override { return *module_; }
  void add_totals(const Batch& leaf, Totals& totals) const override;
  Outputs forward(const Batch& leaf, const Totals& totals) override;
  Metrics finish(const std::map<std::string, double>& sums, const Totals& totals) const override;
  // Both the actor's and the Q networks' targets.
  TargetUpdate target_update() override;
  std::vector<NoiseEntry> noise() const override;
  std::vector<std::string> loss_names() const override { return {"loss_qvalue", "loss_actor"}; }
  // loss_qvalue is always due.
  void set_due(const std::vector<std::string>& names) override;
  void reset_targets();

 private:
  at::Tensor target_value(const Batch& leaf) const;

  Td3Options options_;
  bool actor_due_ = true;
  std::shared_ptr<nn::DeterministicActor> actor_, target_actor_;
  std::shared_ptr<nn::TwinQ> qvalue_, target_qvalue_;
  std::shared_ptr<torch::nn::Module> module_;
};

}  // namespace lockstep::losses
