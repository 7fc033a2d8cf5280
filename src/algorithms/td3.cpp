// TD3: a deterministic actor that learns at every second step of two Q networks; targets of all three.
#include "lockstep/losses/td3.hpp"

#include <ATen/ATen.h>

#include "continuous.hpp"
#include "off_policy.hpp"

namespace lockstep::algorithms {
namespace {

std::shared_ptr<nn::DeterministicActor> make_actor(const config::Deck& deck) {
  auto actor = std::make_shared<nn::DeterministicActor>(actor_options<nn::DeterministicActorOptions>(deck));
  actor->initialize(static_cast<std::uint64_t>(deck.run.seed));
  return actor;
}

std::unique_ptr<NetworkPolicy> policy_of(const config::Deck& deck,
                                         const std::shared_ptr<nn::DeterministicActor>& actor) {
  return std::make_unique<NetworkPolicy>(
      deck.environment.name, actor,
      [actor](const at::Tensor& observation) { return actor->forward(observation); });
}

// The actor's action and normal noise, one draw a number, kept inside the bounds.
rollout::Exploration explore(const std::shared_ptr<nn::DeterministicActor>& actor, double deviation) {
  return [actor, deviation](const at::Tensor& observation, RandomStream& stream, std::int64_t) {
    const at::Tensor action = actor->forward(observation).clone();
    auto* numbers = action.mutable_data_ptr<float>();
    for (std::int64_t i = 0; i < action.numel(); ++i)
      numbers[i] += static_cast<float>(deviation * stream.normal());
    return actor->scale().clamp(action);
  };
}

OffPolicyParts parts_of(const config::Deck& deck) {
  const config::Td3Section& td3 = deck.algorithm.td3;
  const auto actor = make_actor(deck);
  const auto qvalue = make_twin_q(deck);
  const losses::Td3Options options{.gamma = td3.gamma,
                                   .policy_noise = td3.target_noise,
                                   .noise_clip = td3.noise_clip,
                                   .distance = losses::distance_from(td3.distance),
                                   .tau = td3.tau,
                                   .target_every = td3.actor_every};
  // Each group is clipped by its own norm, since the actor is not always there.
  learner::ParameterGroup critic_group = group_of("qvalue", *qvalue, deck);
  critic_group.clip_norm = deck.learner.clip_norm;
  learner::ParameterGroup actor_group = group_of("actor", *actor, deck);
  actor_group.clip_norm = deck.learner.clip_norm;
  actor_group.every = td3.actor_every;
  actor_group.loss = "loss_actor";
  return {.policy = policy_of(deck, actor),
          .model = actor,
          .loss = std::make_shared<losses::Td3Loss>(actor, qvalue, options),
          .groups = {std::move(critic_group), std::move(actor_group)},
          .explore = explore(actor, td3.exploration_noise)};
}

std::unique_ptr<Policy> untrained_policy(const config::Deck& deck) {
  return policy_of(deck, make_actor(deck));
}

}  // namespace

Registration td3() {
  return off_policy_registration<parts_of, untrained_policy, Actions::continuous>(
      "td3", "mlp deterministic actor, twin q");
}

}  // namespace lockstep::algorithms
