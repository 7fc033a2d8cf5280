// What a token loss needs of a network; any language model serves.
#pragma once

#include <torch/nn/module.h>

namespace lockstep::nn {

class TokenModel : public torch::nn::Module {
 public:
  // tokens [rows, t] int64 -> [rows, t, vocabulary]. Which token a place's logits are for is the batch's
  // affair (its entry `label`): a causal model's are for the next one.
  virtual at::Tensor logits(const at::Tensor& tokens) = 0;
  virtual at::ScalarType dtype() const = 0;
};

}  // namespace lockstep::nn
