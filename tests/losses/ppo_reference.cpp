// The groups ppo_clip and ppo_dapo.
#include "lockstep/losses/ppo.hpp"
#include "reference_case.hpp"
#include "reference_group.hpp"

namespace lockstep::losses {
namespace {

PpoOptions ppo_options(const ReferenceFile& file, const std::string& group) {
  PpoOptions options;
  options.clip_low = file.number(group, "clip_low");
  options.clip_high = file.number(group, "clip_high");
  options.value_clip = file.number(group, "value_clip");
  options.entropy_coefficient = file.number(group, "entropy_coefficient");
  options.value_coefficient = file.number(group, "critic_coefficient");
  options.normalize_advantage = file.number(group, "normalize_advantage") != 0;
  options.distance = distance_from(file.text(group, "critic_loss"));
  return options;
}

// Our parameter's name, and where the file keeps it: actor.2.weight is aw.0.2.weight, its gradient
// ag.module.0.module.0.2.weight.
std::string dataset_of(const std::string& name, bool gradient) {
  const std::string rest = name.substr(name.find('.') + 1);
  if (name.starts_with("actor.")) return (gradient ? "ag.module.0.module.0." : "aw.0.") + rest;
  return (gradient ? "cg.module." : "cw.") + rest;
}

std::shared_ptr<nn::ActorCritic> reference_network(const ReferenceFile& file, const std::string& group) {
  const auto sizes = layer_sizes(file, group + "/aw.0.");
  const auto network = std::make_shared<nn::ActorCritic>(nn::ActorCriticOptions{
      sizes.front(), false, sizes.back() / 2, hidden_of(sizes), nn::Activation::tanh, nn::LogStd::state});
  network->to(at::kDouble);
  const at::NoGradGuard no_grad;
  for (auto& item : network->named_parameters()) {
    item.value().copy_(tensor(file, group + "/" + dataset_of(item.key(), false)));
  }
  return network;
}

}  // namespace

ReferenceCase ppo_case(const ReferenceFile& file, const std::string& group) {
  const auto entry = [&](const std::string& name) { return tensor(file, group + "/" + name); };
  ReferenceCase made;
  made.loss = std::make_shared<PpoLoss>(reference_network(file, group), ppo_options(file, group));
  made.batch.add(key::observation, entry("observation"));
  made.batch.add(key::action, entry("action"));
  made.batch.add(key::log_prob, entry("action_log_prob"));
  made.batch.add(key::advantage, entry("advantage").squeeze(1));
  made.batch.add(key::value_target, entry("value_target").squeeze(1));
  made.batch.add(key::value, entry("state_value").squeeze(1));
  made.metrics = out_metrics(file, group);
  EXPECT_GE(made.metrics.size(), 11u);
  for (const auto& item : made.loss->module().named_parameters()) {
    made.gradients[item.key()] = entry(dataset_of(item.key(), true));
  }
  return made;
}

}  // namespace lockstep::losses
