#include "lockstep/losses/td3.hpp"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <algorithm>

#include "entries.hpp"
#include "held_parameters.hpp"
#include "lockstep/core/error.hpp"
#include "targets.hpp"
#include "weighted_rows.hpp"

namespace lockstep::losses {

Td3Loss::Td3Loss(std::shared_ptr<nn::DeterministicActor> actor, std::shared_ptr<nn::TwinQ> qvalue,
                 const Td3Options& options)
    : options_(options),
      actor_(std::move(actor)),
      qvalue_(std::move(qvalue)),
      module_(std::make_shared<torch::nn::Module>()) {
  require_target_options(options_.gamma, options_.tau, options_.target_every);
  if (!(options_.policy_noise >= 0 && options_.noise_clip >= 0)) {
    throw ContractError(c10::str("TD3's policy_noise and noise_clip must be 0 or more, not ",
                                 options_.policy_noise, " and ", options_.noise_clip));
  }
  target_actor_ = target_of(*actor_);
  target_qvalue_ = target_of(*qvalue_);
  module_->register_module("actor", actor_);
  module_->register_module("qvalue", qvalue_);
  module_->register_module("target_actor", target_actor_);
  module_->register_module("target_qvalue", target_qvalue_);
}

void Td3Loss::reset_targets() {
  copy_parameters(*target_actor_, *actor_);
  copy_parameters(*target_qvalue_, *qvalue_);
}

TargetUpdate Td3Loss::target_update() {
  TargetUpdate update{{}, options_.tau, options_.target_every};
  add_pairs(*target_actor_, *actor_, update);
  add_pairs(*target_qvalue_, *qvalue_, update);
  return update;
}

std::vector<NoiseEntry> Td3Loss::noise() const {
  return {{std::string(key::noise_next), actor_->options().action_size, actor_->dtype()}};
}

void Td3Loss::set_due(const std::vector<std::string>& names) {
  bool qvalue_due = false, actor_due = false;
  for (const std::string& name : names) {
    if (name != "loss_qvalue" && name != "loss_actor") {
      throw ContractError("TD3 has no loss '" + name + "'; it has loss_qvalue and loss_actor");
    }
    (name == "loss_actor" ? actor_due : qvalue_due) = true;
  }
  if (!qvalue_due) throw ContractError("TD3's loss_qvalue is due at every step; only loss_actor may wait");
  actor_due_ = actor_due;
}

void Td3Loss::add_totals(const Batch& leaf, Totals& totals) const {
  add_weighted_rows(leaf, qvalue_->dtype(), totals);
}

at::Tensor Td3Loss::target_value(const Batch& leaf) const {
  const at::NoGradGuard no_grad;
  const at::Tensor& observation = leaf.at(key::next_observation);
  const at::Tensor& draws = per_row(leaf, key::noise_next, actor_->options().action_size, actor_->dtype());
  const at::Tensor noise = (draws * options_.policy_noise).clamp(-options_.noise_clip, options_.noise_clip);
  const at::Tensor action = actor_->scale().clamp(target_actor_->forward(observation) + noise);
  const auto [q0, q1] = target_qvalue_->forward(observation, action);
  return bootstrap(leaf, at::minimum(q0, q1), options_.gamma);
}

Outputs Td3Loss::forward(const Batch& leaf, const Totals& totals) {
  const at::Tensor& observation = leaf.at(key::observation);
  const WeightedMean mean(leaf, qvalue_->dtype(), totals);
  const at::Tensor y = target_value(leaf);
  const auto [q0, q1] = qvalue_->forward(observation, leaf.at(key::action));

  at::Tensor actor_loss = at::zeros({}, q0.options());
  if (actor_due_) {
    const HeldParameters held(*qvalue_);
    actor_loss = -mean(qvalue_->first(observation, actor_->forward(observation)));
  }
  Outputs outputs{
      {"loss_qvalue", mean(distance(options_.distance, q0, y) + distance(options_.distance, q1, y))},
      {"loss_actor", actor_loss}};
  const at::Tensor error = at::maximum((q0.detach() - y).square(), (q1.detach() - y).square());
  add_value_outputs(q0, y, error, outputs);
  return outputs;
}

Metrics Td3Loss::finish(const std::map<std::string, double>& sums, const Totals& totals) const {
  Metrics metrics = Loss::finish(sums, totals);
  if (!actor_due_) metrics.erase("loss_actor");  // a zero here would halve the mean over a round
  add_value_metrics(sums, totals, metrics);
  return metrics;
}

}  // namespace lockstep::losses
