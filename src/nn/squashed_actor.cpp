#include "lockstep/nn/squashed_actor.hpp"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include "lockstep/core/error.hpp"
#include "lockstep/nn/initialization.hpp"

namespace lockstep::nn {

SquashedActor::SquashedActor(const SquashedActorOptions& options)
    : options_(options), scale_(options.bounds, options.action_size) {
  if (options.log_std_range && !(options.log_std_range->first < options.log_std_range->second)) {
    throw ContractError(c10::str("log_std_range must be (lower, upper), not (", options.log_std_range->first,
                                 ", ", options.log_std_range->second, ")"));
  }
  actor_ = register_module(
      "actor", std::make_shared<Mlp>(MlpOptions{options.observation_size, options.hidden,
                                                2 * options.action_size, options.activation, false}));
}

void SquashedActor::initialize(std::uint64_t seed) {
  fan_in_uniform_(*actor_, seed, "actor");
}

TanhNormal SquashedActor::policy(const at::Tensor& observation) {
  const at::Tensor output = actor_->forward(observation);
  const std::int64_t size = options_.action_size;
  const at::Tensor log_std = output.narrow(1, size, size);
  const auto& range = options_.log_std_range;
  return {output.narrow(1, 0, size), range ? log_std.clamp(range->first, range->second) : log_std, scale_};
}

}  // namespace lockstep::nn
