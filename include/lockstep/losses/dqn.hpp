// Deep Q-learning (Mnih et al., "Human-level control through deep reinforcement learning", 2015), plain or
// double (van Hasselt et al., "Deep Reinforcement Learning with Double Q-learning", 2016).
#pragma once

#include <memory>

#include "lockstep/losses/distance.hpp"
#include "lockstep/losses/loss.hpp"
#include "lockstep/nn/q_network.hpp"

namespace lockstep::losses {

struct DqnOptions {
  double gamma = 0.99;
  bool double_q = false;  // the online network chooses the next action, the target network values it
  Distance distance = Distance::l2;
  double tau = 1.0;                  // the target network follows by target <- lerp(target, online, tau) ...
  std::int64_t target_every = 1000;  // ... after every target_every-th real step
};

// y = r + gamma (1 - terminated) Q_target(s', a*), a* the first arg-max of Q_target(s') or, double, of Q(s');
// loss = sum w dist(Q(s, a), y) / sum w over all rows of the step, w = 1 where the batch has no weight.
//
// Batch entries: observation, next.observation [rows, o], reward and, optional, weight [rows] in the
// network's dtype; action [rows] int64 in [0, actions); terminated [rows] bool. A [rows, 1] is an error.
// Totals: rows, weight. Outputs: loss; sums q, target, td_error; max_td_error; row_td_error = (Q - y)^2.
// Metrics: loss; q_mean, target_mean, td_error_mean (unweighted); max_td_error.
// module(): network.q.<2i>.* and the frozen target.q.<2i>.*.
class DqnLoss : public Loss {
 public:
  // The target starts as a copy of the network: initialise the network first, or call reset_targets.
  DqnLoss(std::shared_ptr<nn::QNetwork> network, const DqnOptions& options);
  torch::nn::Module& module() override { return *module_; }
  void add_totals(const Batch& leaf, Totals& totals) const override;
  Outputs forward(const Batch& leaf, const Totals& totals) override;
  Metrics finish(const std::map<std::string, double>& sums, const Totals& totals) const override;
  TargetUpdate target_update() override;
  std::vector<std::string> loss_names() const override { return {"loss"}; }
  void reset_targets();

 private:
  at::Tensor target_value(const Batch& leaf) const;

  DqnOptions options_;
  std::shared_ptr<nn::QNetwork> network_, target_;
  std::shared_ptr<torch::nn::Module> module_;
};

}  // namespace lockstep::losses
