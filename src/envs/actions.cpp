#include "actions.hpp"

#include <spdlog/fmt/fmt.h>

#include <cmath>

#include "lockstep/core/error.hpp"

namespace lockstep::envs {

std::int64_t discrete_action(const EnvironmentSpec& spec, std::span<const float> action) {
  if (action.size() != 1) {
    throw ContractError(fmt::format("{}: an action of {} numbers; it takes 1", spec.name, action.size()));
  }
  const float number = action[0];
  // Written so that NaN fails too.
  const bool in_range = number >= 0 && number < static_cast<float>(spec.action.size);
  if (!in_range || number != std::floor(number)) {
    throw ContractError(fmt::format("{}: action {}; it must be an integer from 0 to {}", spec.name, number,
                                    spec.action.size - 1));
  }
  return static_cast<std::int64_t>(number);
}

void check_continuous_action(const EnvironmentSpec& spec, std::span<const float> action) {
  if (static_cast<std::int64_t>(action.size()) != spec.action.size) {
    throw ContractError(
        fmt::format("{}: an action of {} numbers; it takes {}", spec.name, action.size(), spec.action.size));
  }
  for (const float number : action) {
    if (!std::isfinite(number)) {
      throw ContractError(fmt::format("{}: action {}; it must be finite", spec.name, number));
    }
  }
}

}  // namespace lockstep::envs
