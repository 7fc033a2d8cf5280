// What gets trained, and with which settings.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::learner {

enum class OptimizerKind : std::uint8_t { adamw, adam, sgd };
OptimizerKind optimizer_kind_from(const std::string& name);  // InputError listing the known ones

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adamw;
  double learning_rate = 3e-4;
  double weight_decay =
      0;  // adamw: decoupled (Loshchilov and Hutter, 2019); adam, sgd: added to the gradient
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double momentum = 0;  // sgd
};

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

struct ParameterGroup {
  std::vector<NamedTensor> parameters;
  OptimizerOptions options;
  std::string name = "main";
  std::optional<double> clip_norm{};  // clipped by the group's own norm, apart from all others
  // The group steps on every `every`-th real step only; where `loss` names a loss, that is due only then too.
  std::int64_t every = 1;
  std::string loss{};
};

// Trainable parameters of a module under their first name; tied ones appear once, frozen ones not at all.
std::vector<NamedTensor> trainable_parameters(torch::nn::Module& module);
// Parameters and buffers, tied ones once, frozen ones included.
std::vector<NamedTensor> all_tensors(torch::nn::Module& module);

}  // namespace lockstep::learner
