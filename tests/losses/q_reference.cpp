// The groups of losses with Q networks: dqn, sac, td3.
#include "lockstep/losses/dqn.hpp"
#include "lockstep/losses/sac.hpp"
#include "lockstep/losses/td3.hpp"
#include "reference_case.hpp"
#include "reference_group.hpp"

namespace lockstep::losses {
namespace {

// Where the file keeps a parameter's value or gradient.
struct Place {
  std::string dataset;
  std::int64_t index = -1;  // in a stack of networks; -1: not stacked
};

at::Tensor read(const ReferenceFile& file, const std::string& group, const Place& place) {
  const at::Tensor all = tensor(file, group + "/" + place.dataset);
  return place.index < 0 ? all : all[place.index];
}

bool cut_prefix(std::string& name, const std::string& prefix) {
  if (!name.starts_with(prefix)) return false;
  name.erase(0, prefix.size());
  return true;
}

// qvalue.q0.<layer> is place 0 of <prefix>.module.n.<layer>, target_qvalue's of the target's.
Place twin_place(std::string name, const std::string& value, const std::string& target) {
  const bool of_target = cut_prefix(name, "target_");
  cut_prefix(name, "qvalue.q");
  const std::int64_t index = name.front() - '0';
  return {(of_target ? target : value) + ".module.n" + name.substr(1), index};
}

Place dqn_place(std::string name, bool gradient) {
  if (cut_prefix(name, "target.q.")) return {"tw." + name};
  cut_prefix(name, "network.q.");
  return {gradient ? "g.module.0.module." + name : "w." + name};
}

Place sac_place(std::string name, bool gradient) {
  if (name == "log_alpha") return {"log_alpha_grad"};
  if (!cut_prefix(name, "actor.actor.")) return twin_place(name, gradient ? "qg" : "q", "tq");
  return {(gradient ? "ag.module.0.module.0." : "aw.0.") + name};
}

Place td3_place(std::string name, bool gradient) {
  if (cut_prefix(name, "target_actor.actor.")) return {"taw.0." + name};
  if (!cut_prefix(name, "actor.actor.")) return twin_place(name, gradient ? "qg" : "q", "tq");
  return {(gradient ? "ag.module.0." : "aw.0.") + name};
}

using PlaceOf = Place (*)(std::string, bool);

// Gives the loss the group's parameters, and the case its gradients.
void load(ReferenceCase& made, const ReferenceFile& file, const std::string& group, PlaceOf place) {
  const at::NoGradGuard no_grad;
  for (const auto& item : made.loss->module().named_parameters()) {
    if (item.value().requires_grad()) made.gradients[item.key()] = read(file, group, place(item.key(), true));
    if (item.key() == "log_alpha") continue;  // set by the loss's options
    item.value().copy_(read(file, group, place(item.key(), false)));
  }
}

// What the three kinds keep alike.
void add_errors(ReferenceCase& made, const ReferenceFile& file, const std::string& group) {
  made.td_error = tensor(file, group + "/td_error").flatten();
  made.metrics["max_td_error"] = made.td_error.max().item<double>();
  made.metrics["td_error_mean"] = made.td_error.mean().item<double>();
  made.metrics["target_mean"] = tensor(file, group + "/target").mean().item<double>();
}

void add_transition(Batch& batch, const ReferenceFile& file, const std::string& group) {
  batch.add(key::next_observation, tensor(file, group + "/nobs"));
  batch.add(key::reward, tensor(file, group + "/r").flatten());
  batch.add(key::terminated, tensor(file, group + "/term").flatten().to(at::kBool));
}

std::shared_ptr<nn::TwinQ> twin_q(const ReferenceFile& file, const std::string& group, std::int64_t actions) {
  const auto sizes = layer_sizes(file, group + "/q.module.n.");
  auto network = std::make_shared<nn::TwinQ>(
      nn::TwinQOptions{sizes.front() - actions, actions, hidden_of(sizes), nn::Activation::tanh});
  network->to(at::kDouble);
  return network;
}

// Beyond the steps that a test takes.
constexpr std::int64_t never = 1000;

}  // namespace

ReferenceCase dqn_case(const ReferenceFile& file, const std::string& group) {
  const auto sizes = layer_sizes(file, group + "/w.");
  const auto network = std::make_shared<nn::QNetwork>(
      nn::QNetworkOptions{sizes.front(), sizes.back(), hidden_of(sizes), nn::Activation::tanh});
  network->to(at::kDouble);
  ReferenceCase made;
  made.loss =
      std::make_shared<DqnLoss>(network, DqnOptions{.gamma = file.number(group, "gamma"),
                                                    .double_q = file.number(group, "double") != 0,
                                                    .distance = distance_from(file.text(group, "loss")),
                                                    .target_every = never});
  load(made, file, group, dqn_place);
  made.batch.add(key::observation, tensor(file, group + "/obs"));
  made.batch.add(key::action, tensor(file, group + "/act").to(at::kLong));
  made.batch.add(key::weight, tensor(file, group + "/pw"));
  add_transition(made.batch, file, group);
  made.metrics["loss"] = file.scalar(group + "/loss");
  add_errors(made, file, group);
  return made;
}

ReferenceCase sac_case(const ReferenceFile& file, const std::string& group) {
  const auto sizes = layer_sizes(file, group + "/aw.0.");
  const std::int64_t actions = sizes.back() / 2;
  EXPECT_EQ(file.text(group, "std"), "exp");
  const auto actor = std::make_shared<nn::SquashedActor>(
      nn::SquashedActorOptions{sizes.front(), actions, hidden_of(sizes), nn::Activation::tanh, {}, {}});
  actor->to(at::kDouble);
  ReferenceCase made;
  made.loss = std::make_shared<SacLoss>(actor, twin_q(file, group, actions),
                                        SacOptions{.gamma = file.number(group, "gamma"),
                                                   .alpha = file.number(group, "alpha"),
                                                   .target_entropy = file.number(group, "target_entropy"),
                                                   .distance = distance_from(file.text(group, "loss")),
                                                   .target_every = never});
  load(made, file, group, sac_place);
  for (const char* name : {"observation", "action"}) made.batch.add(name, tensor(file, group + "/" + name));
  made.batch.add(key::noise_next, tensor(file, group + "/eps_next"));
  made.batch.add(key::noise_current, tensor(file, group + "/eps_cur"));
  add_transition(made.batch, file, group);
  made.metrics = out_metrics(file, group);
  EXPECT_GE(made.metrics.size(), 5u);
  add_errors(made, file, group);
  return made;
}

ReferenceCase td3_case(const ReferenceFile& file, const std::string& group) {
  const auto sizes = layer_sizes(file, group + "/aw.0.");
  const std::int64_t actions = sizes.back();
  const auto each = [&](const char* name) {
    return std::vector<double>(static_cast<std::size_t>(actions), file.number(group, name));
  };
  const auto actor = std::make_shared<nn::DeterministicActor>(
      nn::DeterministicActorOptions{sizes.front(), actions, hidden_of(sizes), nn::Activation::tanh,
                                    nn::ActionBounds{each("action_low"), each("action_high")}});
  actor->to(at::kDouble);
  ReferenceCase made;
  made.loss = std::make_shared<Td3Loss>(actor, twin_q(file, group, actions),
                                        Td3Options{.gamma = file.number(group, "gamma"),
                                                   .policy_noise = file.number(group, "policy_noise"),
                                                   .noise_clip = file.number(group, "noise_clip"),
                                                   .distance = distance_from(file.text(group, "loss")),
                                                   .target_every = never});
  load(made, file, group, td3_place);
  for (const char* name : {"observation", "action"}) made.batch.add(name, tensor(file, group + "/" + name));
  made.batch.add(key::noise_next, tensor(file, group + "/noise"));
  add_transition(made.batch, file, group);
  for (const char* name : {"loss_qvalue", "loss_actor"}) made.metrics[name] = file.scalar(group + "/" + name);
  add_errors(made, file, group);
  return made;
}

}  // namespace lockstep::losses
