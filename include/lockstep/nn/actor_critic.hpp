// Actor and critic of on-policy algorithms: two MLPs without shared layers, a categorical or a normal head.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "lockstep/nn/distributions.hpp"
#include "lockstep/nn/mlp.hpp"

namespace lockstep::nn {

enum class LogStd : std::uint8_t {
  free,
  state
};  // a parameter starting at 0, or the second half of the actor's output

struct ActorCriticOptions {
  std::int64_t observation_size = 0;
  bool discrete = true;
  std::int64_t action_size = 0;  // number of actions or of dimensions
  std::vector<std::int64_t> hidden{64, 64};
  Activation activation = Activation::tanh;
  LogStd log_std = LogStd::free;
};

using Distribution = std::variant<Categorical, Normal>;
at::Tensor log_prob(const Distribution&, const at::Tensor& action);
at::Tensor entropy(const Distribution&);
LogProbEntropy evaluate(const Distribution&, const at::Tensor& action);
at::Tensor mode(const Distribution&);
at::Tensor sample(const Distribution&, RandomStream&);

// Parameters actor.<2i>.weight|bias, actor.log_std (normal head with LogStd::free, [a]),
// critic.<2i>.weight|bias.
class ActorCritic : public torch::nn::Module {
 public:
  explicit ActorCritic(const ActorCriticOptions& options);
  // Orthogonal weights (gains sqrt 2 hidden, 0.01 policy, 1 value), zero biases, log_std 0.
  void initialize(std::uint64_t seed);
  Distribution policy(const at::Tensor& observation);  // [rows, o]
  at::Tensor value(const at::Tensor& observation);     // [rows, o] -> [rows]
  at::ScalarType dtype() const;                        // of its parameters
  const ActorCriticOptions& options() const noexcept { return options_; }

 private:
  ActorCriticOptions options_;
  std::shared_ptr<Mlp> actor_, critic_;
  at::Tensor log_std_;
};

}  // namespace lockstep::nn
