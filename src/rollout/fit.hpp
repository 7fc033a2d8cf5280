// Whether a network and an environment belong together.
#pragma once

#include "lockstep/envs/environment.hpp"
#include "lockstep/nn/actor_critic.hpp"

namespace lockstep::rollout {

// ContractError naming both sizes unless the network takes the environment's observations and gives its
// actions. Every rank that calls it comes to the same answer, so that none is left alone in a collective.
void check_fit(const nn::ActorCriticOptions& network, const envs::EnvironmentSpec& environment);

}  // namespace lockstep::rollout
