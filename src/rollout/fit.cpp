#include "fit.hpp"

#include <spdlog/fmt/fmt.h>

#include "lockstep/core/error.hpp"

namespace lockstep::rollout {

void check_fit(const nn::ActorCriticOptions& network, const envs::EnvironmentSpec& environment) {
  if (network.observation_size != environment.observation_size) {
    throw ContractError(fmt::format("the network takes observations of {} numbers; {} gives {}",
                                    network.observation_size, environment.name,
                                    environment.observation_size));
  }
  const envs::ActionSpace& action = environment.action;
  if (network.discrete != action.discrete || network.action_size != action.size) {
    const auto kind = [](bool discrete) { return discrete ? "discrete" : "continuous"; };
    throw ContractError(fmt::format("the network's actions are {} of size {}; those of {} are {} of size {}",
                                    kind(network.discrete), network.action_size, environment.name,
                                    kind(action.discrete), action.size));
  }
}

}  // namespace lockstep::rollout
