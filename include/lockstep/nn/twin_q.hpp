// Two independent values of an observation and a continuous action (SAC, TD3; Fujimoto et al., "Addressing
// Function Approximation Error in Actor-Critic Methods", 2018).
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "lockstep/nn/mlp.hpp"

namespace lockstep::nn {

struct TwinQOptions {
  std::int64_t observation_size = 0;
  std::int64_t action_size = 0;
  std::vector<std::int64_t> hidden{256, 256};
  Activation activation = Activation::relu;
};

// Parameters q0.<2i>.weight|bias and q1.<2i>.weight|bias, zero until initialised.
class TwinQ : public torch::nn::Module {
 public:
  explicit TwinQ(const TwinQOptions& options);
  // `fan_in_uniform_` of every layer, keyed by (seed, name).
  void initialize(std::uint64_t seed);
  // observation [rows, o], action [rows, a] -> Q_0 and Q_1, [rows] each. Differentiable by the action, also
  // while the parameters ask for no gradient.
  std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& observation, const at::Tensor& action);
  // Q_0 alone.
  at::Tensor first(const at::Tensor& observation, const at::Tensor& action);
  at::ScalarType dtype() const { return q0_->dtype(); }
  const TwinQOptions& options() const noexcept { return options_; }

 private:
  at::Tensor joined(const at::Tensor& observation, const at::Tensor& action) const;

  TwinQOptions options_;
  std::shared_ptr<Mlp> q0_, q1_;
};

}  // namespace lockstep::nn
