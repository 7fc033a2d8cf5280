// Checks of an action that every environment makes before its state moves.
#pragma once

#include <cstdint>
#include <span>

#include "lockstep/envs/environment.hpp"

namespace lockstep::envs {

// The number of a discrete action. ContractError unless `action` is one integer in [0, spec.action.size).
std::int64_t discrete_action(const EnvironmentSpec& spec, std::span<const float> action);

// ContractError unless `action` is spec.action.size finite numbers. They may lie beyond the bounds.
void check_continuous_action(const EnvironmentSpec& spec, std::span<const float> action);

}  // namespace lockstep::envs
