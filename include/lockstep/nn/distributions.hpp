// Action distributions over network outputs; rows lead. log_prob and entropy are summed over action
// dimensions: [rows]. ContractError where an action's shape or dtype, or an index, does not fit.
#pragma once

#include <ATen/core/Tensor.h>

#include "lockstep/core/random.hpp"

namespace lockstep::nn {

struct LogProbEntropy {
  at::Tensor log_prob, entropy;  // [rows] each
};

class Categorical {
 public:
  explicit Categorical(const at::Tensor& logits);       // [rows, n]
  at::Tensor log_prob(const at::Tensor& action) const;  // action [rows] int64 -> [rows]
  at::Tensor entropy() const;                           // [rows]
  // Both at once: on the CPU in one pass and with one autograd node, elsewhere by the two above.
  LogProbEntropy evaluate(const at::Tensor& action) const;
  at::Tensor mode() const;  // [rows] int64, the lowest index of the largest logit
  // [rows] int64, inverse CDF in double, one draw a row. NumericError when a row's logits are not finite.
  at::Tensor sample(RandomStream& stream) const;

 private:
  at::Tensor logits_;
};

class Normal {
 public:
  Normal(const at::Tensor& mean, const at::Tensor& log_std);  // [rows, a]; log_std [rows, a] or [a]
  at::Tensor log_prob(const at::Tensor& action) const;        // action [rows, a] -> [rows]
  at::Tensor entropy() const;                                 // [rows]
  LogProbEntropy evaluate(const at::Tensor& action) const;    // as Categorical's
  at::Tensor mode() const;                                    // [rows, a]
  at::Tensor sample(RandomStream& stream) const;              // [rows, a], rows * a draws, in double

 private:
  at::Tensor mean_, log_std_;
};

}  // namespace lockstep::nn
