#include "lockstep/losses/dqn.hpp"

#include <ATen/ATen.h>

#include "entries.hpp"
#include "targets.hpp"
#include "weighted_rows.hpp"

namespace lockstep::losses {

DqnLoss::DqnLoss(std::shared_ptr<nn::QNetwork> network, const DqnOptions& options)
    : options_(options), network_(std::move(network)), module_(std::make_shared<torch::nn::Module>()) {
  require_target_options(options_.gamma, options_.tau, options_.target_every);
  target_ = target_of(*network_);
  module_->register_module("network", network_);
  module_->register_module("target", target_);
}

void DqnLoss::reset_targets() {
  copy_parameters(*target_, *network_);
}

TargetUpdate DqnLoss::target_update() {
  TargetUpdate update{{}, options_.tau, options_.target_every};
  add_pairs(*target_, *network_, update);
  return update;
}

void DqnLoss::add_totals(const Batch& leaf, Totals& totals) const {
  add_weighted_rows(leaf, network_->dtype(), totals);
}

at::Tensor DqnLoss::target_value(const Batch& leaf) const {
  const at::NoGradGuard no_grad;
  const at::Tensor& observation = leaf.at(key::next_observation);
  const at::Tensor values = target_->forward(observation);
  const at::Tensor best = (options_.double_q ? network_->forward(observation) : values).argmax(1, true);
  return bootstrap(leaf, values.gather(1, best).squeeze(1), options_.gamma);
}

Outputs DqnLoss::forward(const Batch& leaf, const Totals& totals) {
  const at::Tensor& action = indices(leaf, key::action, network_->options().actions);
  const WeightedMean mean(leaf, network_->dtype(), totals);
  const at::Tensor y = target_value(leaf);
  const at::Tensor q = network_->forward(leaf.at(key::observation)).gather(1, action.unsqueeze(1)).squeeze(1);
  Outputs outputs{{"loss", mean(distance(options_.distance, q, y))}};
  add_value_outputs(q, y, (q.detach() - y).square(), outputs);
  return outputs;
}

Metrics DqnLoss::finish(const std::map<std::string, double>& sums, const Totals& totals) const {
  Metrics metrics = Loss::finish(sums, totals);
  add_value_metrics(sums, totals, metrics);
  return metrics;
}

}  // namespace lockstep::losses
