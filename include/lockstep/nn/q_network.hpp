// The value of every discrete action (DQN).
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "lockstep/nn/mlp.hpp"

namespace lockstep::nn {

struct QNetworkOptions {
  std::int64_t observation_size = 0;
  std::int64_t actions = 0;
  std::vector<std::int64_t> hidden{64, 64};
  Activation activation = Activation::relu;
};

// Parameters q.<2i>.weight|bias, zero until initialised.
class QNetwork : public torch::nn::Module {
 public:
  explicit QNetwork(const QNetworkOptions& options);
  // `fan_in_uniform_` of every layer, keyed by (seed, name).
  void initialize(std::uint64_t seed);
  at::Tensor forward(const at::Tensor& observation);  // [rows, o] -> [rows, actions]
  at::ScalarType dtype() const { return q_->dtype(); }
  const QNetworkOptions& options() const noexcept { return options_; }

 private:
  QNetworkOptions options_;
  std::shared_ptr<Mlp> q_;
};

}  // namespace lockstep::nn
