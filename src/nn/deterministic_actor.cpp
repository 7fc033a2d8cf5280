#include "lockstep/nn/deterministic_actor.hpp"

#include <ATen/ATen.h>

#include "lockstep/nn/initialization.hpp"

namespace lockstep::nn {

DeterministicActor::DeterministicActor(const DeterministicActorOptions& options)
    : options_(options),
      scale_(options.bounds, options.action_size),
      actor_(register_module(
          "actor", std::make_shared<Mlp>(MlpOptions{options.observation_size, options.hidden,
                                                    options.action_size, options.activation, false}))) {}

void DeterministicActor::initialize(std::uint64_t seed) {
  fan_in_uniform_(*actor_, seed, "actor");
}

at::Tensor DeterministicActor::forward(const at::Tensor& observation) {
  return scale_.to_bounds(actor_->forward(observation).tanh());
}

}  // namespace lockstep::nn
