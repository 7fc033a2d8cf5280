// SAC: a tanh-normal actor, two Q networks and their targets, a learned temperature; each a group of its own.
#include "lockstep/losses/sac.hpp"

#include "continuous.hpp"
#include "deck_options.hpp"
#include "off_policy.hpp"

namespace lockstep::algorithms {
namespace {

// Keeps the density finite early in training (Haarnoja et al., 2018).
constexpr std::pair log_std_range{-20.0, 2.0};

std::shared_ptr<nn::SquashedActor> make_actor(const config::Deck& deck) {
  auto options = actor_options<nn::SquashedActorOptions>(deck);
  options.log_std_range = log_std_range;
  auto actor = std::make_shared<nn::SquashedActor>(options);
  actor->initialize(static_cast<std::uint64_t>(deck.run.seed));
  return actor;
}

std::unique_ptr<NetworkPolicy> policy_of(const config::Deck& deck,
                                         const std::shared_ptr<nn::SquashedActor>& actor) {
  return std::make_unique<NetworkPolicy>(
      deck.environment.name, actor,
      [actor](const at::Tensor& observation) { return actor->policy(observation).mode(); });
}

rollout::Exploration explore(const std::shared_ptr<nn::SquashedActor>& actor) {
  return [actor](const at::Tensor& observation, RandomStream& stream, std::int64_t) {
    return actor->policy(observation).sample(stream);
  };
}

OffPolicyParts parts_of(const config::Deck& deck) {
  const config::SacSection& sac = deck.algorithm.sac;
  const auto actor = make_actor(deck);
  const auto qvalue = make_twin_q(deck);
  const losses::SacOptions options{.gamma = sac.gamma,
                                   .alpha = sac.initial_alpha,
                                   .distance = losses::distance_from(sac.distance),
                                   .tau = sac.tau,
                                   .target_every = sac.target_every};
  const auto loss = std::make_shared<losses::SacLoss>(actor, qvalue, options);
  learner::ParameterGroup alpha{.parameters = {{.name = "log_alpha", .tensor = loss->log_alpha()}},
                                .options = optimizer_options(deck.optimizer),
                                .name = "alpha"};
  return {.policy = policy_of(deck, actor),
          .model = actor,
          .loss = loss,
          .groups = {group_of("actor", *actor, deck), group_of("qvalue", *qvalue, deck), std::move(alpha)},
          .explore = explore(actor)};
}

std::unique_ptr<Policy> untrained_policy(const config::Deck& deck) {
  return policy_of(deck, make_actor(deck));
}

}  // namespace

Registration sac() {
  return off_policy_registration<parts_of, untrained_policy, Actions::continuous>(
      "sac", "mlp tanh-normal actor, twin q");
}

}  // namespace lockstep::algorithms
