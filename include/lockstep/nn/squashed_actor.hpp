// A tanh-normal policy for a continuous action (SAC).
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lockstep/nn/action_bounds.hpp"
#include "lockstep/nn/mlp.hpp"
#include "lockstep/nn/tanh_normal.hpp"

namespace lockstep::nn {

struct SquashedActorOptions {
  std::int64_t observation_size = 0;
  std::int64_t action_size = 0;
  std::vector<std::int64_t> hidden{256, 256};
  Activation activation = Activation::relu;
  ActionBounds bounds{};
  std::optional<std::pair<double, double>> log_std_range{};  // clamped to it; no gradient outside
};

// Parameters actor.<2i>.weight|bias, zero until initialised. The network's output is halved into (mean, s);
// the deviation before tanh is exp(s).
class SquashedActor : public torch::nn::Module {
 public:
  explicit SquashedActor(const SquashedActorOptions& options);
  // `fan_in_uniform_` of every layer, keyed by (seed, name).
  void initialize(std::uint64_t seed);
  TanhNormal policy(const at::Tensor& observation);  // [rows, o]
  const ActionScale& scale() const noexcept { return scale_; }
  at::ScalarType dtype() const { return actor_->dtype(); }
  const SquashedActorOptions& options() const noexcept { return options_; }

 private:
  SquashedActorOptions options_;
  ActionScale scale_;
  std::shared_ptr<Mlp> actor_;
};

}  // namespace lockstep::nn
