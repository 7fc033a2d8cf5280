#include "stepper_checks.hpp"

#include <spdlog/fmt/fmt.h>

#include <bit>
#include <cmath>
#include <set>
#include <string>
#include <unordered_map>

#include "lockstep/core/error.hpp"

namespace lockstep::learner {
namespace {

void check_settings(const ParameterGroup& group) {
  if (group.every < 1)
    throw ContractError(
        fmt::format("group '{}' steps every {} steps; it must be 1 or more", group.name, group.every));
  if (group.clip_norm && (!(*group.clip_norm >= 0) || !std::isfinite(*group.clip_norm)))
    throw ContractError(fmt::format("group '{}' has clip_norm {}; it must be finite, 0 (no clipping) or more",
                                    group.name, *group.clip_norm));
}

}  // namespace

void check_options(const StepperOptions& options) {
  if (options.accumulation < 1 || !std::has_single_bit(static_cast<std::uint64_t>(options.accumulation)))
    throw ContractError(
        fmt::format("accumulation is {}; it must be a power of two, 1 or more", options.accumulation));
  if (!(options.clip_norm >= 0) || !std::isfinite(options.clip_norm))
    throw ContractError(
        fmt::format("clip_norm is {}; it must be finite, 0 (no clipping) or more", options.clip_norm));
  if (options.max_skips < 0)
    throw ContractError(fmt::format("max_skips is {}; it must be 0 or more", options.max_skips));
}

void check_groups(const std::vector<ParameterGroup>& groups) {
  std::unordered_map<const void*, std::string> seen;
  std::set<std::string> names;
  for (const ParameterGroup& group : groups) {
    check_settings(group);
    if (!names.insert(group.name).second)
      throw ContractError(
          fmt::format("two parameter groups are named '{}'; give each a name of its own", group.name));
    for (const NamedTensor& parameter : group.parameters) {
      const auto [found, fresh] = seen.try_emplace(parameter.tensor.unsafeGetTensorImpl(), parameter.name);
      if (!fresh)
        throw ContractError(
            fmt::format("parameter '{}' is in the groups twice (also as '{}'); a tied parameter belongs in "
                        "once, under its first name",
                        parameter.name, found->second));
    }
  }
  if (seen.empty()) throw ContractError("the parameter groups are empty: there is nothing to train");
}

}  // namespace lockstep::learner
