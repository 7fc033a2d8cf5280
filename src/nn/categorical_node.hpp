// Log-probability and entropy of categorical rows in one pass over CPU memory, with the backward by hand:
// d log p_a / d logit_j = [j = a] - p_j, d H / d logit_j = -p_j (log p_j + H). Arithmetic in double.
#pragma once

#include <torch/csrc/autograd/saved_variable.h>

#include "lockstep/nn/distributions.hpp"
#include "lockstep/nn/hand_node.hpp"

namespace lockstep::nn {

class CategoricalNode : public HandNode {
 public:
  static bool serves(const at::Tensor& logits, const at::Tensor& action);
  static LogProbEntropy evaluate(const at::Tensor& logits, const at::Tensor& action);

  CategoricalNode(at::ScalarType type, at::Tensor log_probabilities, at::Tensor entropy,
                  const at::Tensor& action);
  std::string name() const override { return "CategoricalBackward"; }

 protected:
  torch::autograd::variable_list backward(const torch::autograd::variable_list& gradients) override;
  void release() override;

 private:
  at::ScalarType type_;
  at::Tensor log_probabilities_, entropy_;  // [rows, n], [rows], double, seen by nobody else
  torch::autograd::SavedVariable action_;
};

}  // namespace lockstep::nn
