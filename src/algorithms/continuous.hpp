// Networks of the algorithms with continuous actions, from the deck.
#pragma once

#include <memory>

#include "lockstep/config/deck.hpp"
#include "lockstep/envs/environment.hpp"
#include "lockstep/nn/twin_q.hpp"

namespace lockstep::algorithms {

// Options of an actor: sizes and bounds of the environment, layers of the deck.
template <class Options>
Options actor_options(const config::Deck& deck) {
  const envs::EnvironmentSpec& environment = envs::environment_spec(deck.environment.name);
  return {.observation_size = environment.observation_size,
          .action_size = environment.action.size,
          .hidden = deck.network.hidden,
          .activation = nn::activation_from(deck.network.activation),
          .bounds = {.low = environment.action.low, .high = environment.action.high}};
}

// With its initial values.
inline std::shared_ptr<nn::TwinQ> make_twin_q(const config::Deck& deck) {
  const envs::EnvironmentSpec& environment = envs::environment_spec(deck.environment.name);
  auto qvalue = std::make_shared<nn::TwinQ>(
      nn::TwinQOptions{.observation_size = environment.observation_size,
                       .action_size = environment.action.size,
                       .hidden = deck.network.hidden,
                       .activation = nn::activation_from(deck.network.activation)});
  qvalue->initialize(static_cast<std::uint64_t>(deck.run.seed));
  return qvalue;
}

}  // namespace lockstep::algorithms
