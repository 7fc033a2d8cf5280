// Multilayer perceptron with one autograd node: a plain chain of addmm and activation, forward and backward
// by hand (the same products autograd would run, without its per-operator cost).
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <vector>

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
class Mlp : public torch::nn::Module {
 public:
  explicit Mlp(const MlpOptions& options);
  // [rows, inputs] -> [rows, outputs], in the parameters' dtype whatever autocast says. ContractError when
  // the input's shape or dtype does not fit. First derivatives only: a backward with create_graph throws
  // ContractError.
  at::Tensor forward(const at::Tensor& input);
  at::ScalarType dtype() const { return weights_.front().scalar_type(); }
  const MlpOptions& options() const noexcept { return options_; }

 private:
  MlpOptions options_;
  std::vector<at::Tensor> weights_, biases_;
};

}  // namespace lockstep::nn
