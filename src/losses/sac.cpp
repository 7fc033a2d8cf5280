#include "lockstep/losses/sac.hpp"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <cmath>

#include "entries.hpp"
#include "held_parameters.hpp"
#include "lockstep/core/error.hpp"
#include "targets.hpp"
#include "weighted_rows.hpp"

namespace lockstep::losses {

SacLoss::SacLoss(std::shared_ptr<nn::SquashedActor> actor, std::shared_ptr<nn::TwinQ> qvalue,
                 const SacOptions& options)
    : options_(options),
      target_entropy_(options.target_entropy.value_or(-static_cast<double>(actor->options().action_size))),
      actor_(std::move(actor)),
      qvalue_(std::move(qvalue)),
      module_(std::make_shared<torch::nn::Module>()) {
  require_target_options(options_.gamma, options_.tau, options_.target_every);
  if (!(options_.alpha > 0)) {
    throw ContractError(c10::str("SAC's alpha must be positive, not ", options_.alpha));
  }
  target_ = target_of(*qvalue_);
  module_->register_module("actor", actor_);
  module_->register_module("qvalue", qvalue_);
  module_->register_module("target_qvalue", target_);
  log_alpha_ =
      module_->register_parameter("log_alpha", at::full({}, std::log(options_.alpha), qvalue_->dtype()));
}

void SacLoss::reset_targets() {
  copy_parameters(*target_, *qvalue_);
}

TargetUpdate SacLoss::target_update() {
  TargetUpdate update{{}, options_.tau, options_.target_every};
  add_pairs(*target_, *qvalue_, update);
  return update;
}

std::vector<NoiseEntry> SacLoss::noise() const {
  const std::int64_t columns = actor_->options().action_size;
  return {{std::string(key::noise_next), columns, actor_->dtype()},
          {std::string(key::noise_current), columns, actor_->dtype()}};
}

void SacLoss::add_totals(const Batch& leaf, Totals& totals) const {
  add_weighted_rows(leaf, qvalue_->dtype(), totals);
}

at::Tensor SacLoss::target_value(const Batch& leaf) const {
  const at::NoGradGuard no_grad;
  const at::Tensor& observation = leaf.at(key::next_observation);
  const auto [action, log_prob] = actor_->policy(observation).rsample(leaf.at(key::noise_next));
  const auto [q0, q1] = target_->forward(observation, action);
  return bootstrap(leaf, at::minimum(q0, q1) - log_alpha_.exp() * log_prob, options_.gamma);
}

Outputs SacLoss::forward(const Batch& leaf, const Totals& totals) {
  const at::Tensor& observation = leaf.at(key::observation);
  const WeightedMean mean(leaf, qvalue_->dtype(), totals);
  const at::Tensor y = target_value(leaf);
  const auto [q0, q1] = qvalue_->forward(observation, leaf.at(key::action));

  const auto [action, log_prob] = actor_->policy(observation).rsample(leaf.at(key::noise_current));
  at::Tensor best;
  {
    const HeldParameters held(*qvalue_);
    const auto [of_action_0, of_action_1] = qvalue_->forward(observation, action);
    best = at::minimum(of_action_0, of_action_1);
  }
  const at::Tensor alpha = log_alpha_.detach().exp();
  const at::Tensor excess = log_prob.detach() + target_entropy_;

  Outputs outputs{
      {"loss_qvalue", mean(distance(options_.distance, q0, y) + distance(options_.distance, q1, y))},
      {"loss_actor", mean(alpha * log_prob - best)},
      {"loss_alpha", -log_alpha_ * mean(excess)},
      {"log_prob", row_sum(log_prob)},
      {"max_alpha", alpha}};  // the same in every leaf
  const at::Tensor error = at::maximum((q0.detach() - y).abs(), (q1.detach() - y).abs());
  add_value_outputs(q0, y, error, outputs);
  return outputs;
}

Metrics SacLoss::finish(const std::map<std::string, double>& sums, const Totals& totals) const {
  Metrics metrics = Loss::finish(sums, totals);
  add_value_metrics(sums, totals, metrics);
  const double rows = totals.at("rows").value();
  metrics["entropy"] = rows > 0 ? -sums.at("log_prob") / rows : 0.0;
  metrics["alpha"] = sums.at("max_alpha");
  return metrics;
}

}  // namespace lockstep::losses
