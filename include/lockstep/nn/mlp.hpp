// Multilayer perceptron with one autograd node: a plain chain of addmm and activation, forward and backward
// by hand (the same products autograd would run, without its per-operator cost).
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/nn/unit.hpp"

namespace lockstep::nn {

enum class Activation : std::uint8_t { tanh, relu };
Activation activation_from(const std::string& name);  // InputError otherwise

struct MlpOptions {
  std::int64_t inputs = 0;
  std::vector<std::int64_t> hidden;
  std::int64_t outputs = 0;
  Activation activation = Activation::tanh;
  bool activate_output = false;
};

// Parameters "<2i>.weight" (out, in) and "<2i>.bias" (out), as torch.nn.Sequential names them; zero until
// initialised.
class Mlp : public torch::nn::Module, public Unit {
 public:
  explicit Mlp(const MlpOptions& options);
  // [rows, inputs] -> [rows, outputs], in the parameters' dtype whatever autocast says. ContractError when
  // the input's shape or dtype does not fit. First derivatives only: a backward with create_graph throws
  // ContractError.
  at::Tensor forward(const at::Tensor& input);
  // [rows, inputs] -> [rows], of an Mlp with one output; ContractError otherwise. As
  // forward(input).squeeze(1), with one autograd node less.
  at::Tensor forward_column(const at::Tensor& input);
  // A unit of sharded training. Parameters registered on it besides its layers' are used outside.
  std::vector<at::Tensor> used_outside() const override { return parameters(/*recurse=*/false); }
  at::ScalarType dtype() const { return weights_.front().scalar_type(); }
  const MlpOptions& options() const noexcept { return options_; }

 private:
  at::Tensor run(const at::Tensor& input, bool column);
  at::Tensor run_layers(const at::Tensor& input, bool column);

  MlpOptions options_;
  std::vector<at::Tensor> weights_, biases_;
};

}  // namespace lockstep::nn
