// DQN: epsilon-greedy collection, replay, one Q network and its target.
#include "lockstep/losses/dqn.hpp"

#include <ATen/ATen.h>

#include <algorithm>

#include "lockstep/envs/environment.hpp"
#include "lockstep/nn/distributions.hpp"
#include "off_policy.hpp"

namespace lockstep::algorithms {
namespace {

std::shared_ptr<nn::QNetwork> make_network(const config::Deck& deck) {
  const envs::EnvironmentSpec& environment = envs::environment_spec(deck.environment.name);
  auto network = std::make_shared<nn::QNetwork>(
      nn::QNetworkOptions{.observation_size = environment.observation_size,
                          .actions = environment.action.size,
                          .hidden = deck.network.hidden,
                          .activation = nn::activation_from(deck.network.activation)});
  network->initialize(static_cast<std::uint64_t>(deck.run.seed));
  return network;
}

// The lowest of the actions with the largest value.
at::Tensor greedy(nn::QNetwork& network, const at::Tensor& observation) {
  return nn::Categorical(network.forward(observation)).mode();
}

double epsilon_at(const config::DqnSection& dqn, std::int64_t taken) {
  const double share = std::min(1.0, static_cast<double>(taken) / static_cast<double>(dqn.epsilon_steps));
  return dqn.epsilon_start + share * (dqn.epsilon_end - dqn.epsilon_start);
}

// Two draws a row whatever comes of them, so that the stream does not depend on the chances.
rollout::Exploration explore(const config::DqnSection& dqn, const std::shared_ptr<nn::QNetwork>& network) {
  return [dqn, network](const at::Tensor& observation, RandomStream& stream, std::int64_t taken) {
    const at::Tensor action = greedy(*network, observation);
    auto* chosen = action.mutable_data_ptr<std::int64_t>();
    const double epsilon = epsilon_at(dqn, taken);
    for (std::int64_t row = 0; row < action.size(0); ++row) {
      const bool random = stream.uniform() < epsilon;
      const std::uint64_t other = stream.below(static_cast<std::uint64_t>(network->options().actions));
      if (random) chosen[row] = static_cast<std::int64_t>(other);
    }
    return action;
  };
}

std::unique_ptr<NetworkPolicy> policy_of(const config::Deck& deck,
                                         const std::shared_ptr<nn::QNetwork>& network) {
  return std::make_unique<NetworkPolicy>(
      deck.environment.name, network,
      [network](const at::Tensor& observation) { return greedy(*network, observation); });
}

OffPolicyParts parts_of(const config::Deck& deck) {
  const config::DqnSection& dqn = deck.algorithm.dqn;
  const auto network = make_network(deck);
  const losses::DqnOptions options{.gamma = dqn.gamma,
                                   .double_q = dqn.double_q,
                                   .distance = losses::distance_from(dqn.distance),
                                   .tau = dqn.tau,
                                   .target_every = dqn.target_every};
  return {.policy = policy_of(deck, network),
          .model = network,
          .loss = std::make_shared<losses::DqnLoss>(network, options),
          .groups = {group_of("main", *network, deck)},
          .explore = explore(dqn, network)};
}

std::unique_ptr<Policy> untrained_policy(const config::Deck& deck) {
  return policy_of(deck, make_network(deck));
}

}  // namespace

Registration dqn() {
  return off_policy_registration<parts_of, untrained_policy, Actions::discrete>("dqn", "mlp q-network");
}

}  // namespace lockstep::algorithms
