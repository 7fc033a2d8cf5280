// Log-probability and entropy of independent normals in one pass over CPU memory, with the backward by hand.
// With z = (x - mean) / e^s: d log p / d mean = z / e^s, d log p / d s = z^2 - 1, d H / d s = 1. Arithmetic
// in double.
#pragma once

#include <torch/csrc/autograd/saved_variable.h>

#include "lockstep/nn/distributions.hpp"
#include "lockstep/nn/hand_node.hpp"

namespace lockstep::nn {

// Edges: mean, log_std.
class NormalNode : public HandNode {
 public:
  // Not where the action itself wants a gradient.
  static bool serves(const at::Tensor& mean, const at::Tensor& log_std, const at::Tensor& action);
  static LogProbEntropy evaluate(const at::Tensor& mean, const at::Tensor& log_std, const at::Tensor& action);

  NormalNode(const at::Tensor& mean, const at::Tensor& log_std, const at::Tensor& action);
  std::string name() const override { return "NormalBackward"; }

 protected:
  torch::autograd::variable_list backward(const torch::autograd::variable_list& gradients) override;
  void release() override;

 private:
  torch::autograd::SavedVariable mean_, log_std_, action_;
};

}  // namespace lockstep::nn
