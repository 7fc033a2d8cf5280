// A deterministic policy for a continuous action (TD3).
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "lockstep/nn/action_bounds.hpp"
#include "lockstep/nn/mlp.hpp"

namespace lockstep::nn {

struct DeterministicActorOptions {
  std::int64_t observation_size = 0;
  std::int64_t action_size = 0;
  std::vector<std::int64_t> hidden{256, 256};
  Activation activation = Activation::relu;
  ActionBounds bounds{};
};

// Parameters actor.<2i>.weight|bias, zero until initialised.
class DeterministicActor : public torch::nn::Module {
 public:
  explicit DeterministicActor(const DeterministicActorOptions& options);
  // `fan_in_uniform_` of every layer, keyed by (seed, name).
  void initialize(std::uint64_t seed);
  at::Tensor forward(const at::Tensor& observation);  // [rows, o] -> tanh scaled to the bounds, [rows, a]
  const ActionScale& scale() const noexcept { return scale_; }
  at::ScalarType dtype() const { return actor_->dtype(); }
  const DeterministicActorOptions& options() const noexcept { return options_; }

 private:
  DeterministicActorOptions options_;
  ActionScale scale_;
  std::shared_ptr<Mlp> actor_;
};

}  // namespace lockstep::nn
