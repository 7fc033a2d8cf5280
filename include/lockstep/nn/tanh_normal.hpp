// The tanh of a normal action, scaled to the action's bounds (Haarnoja et al., "Soft Actor-Critic Algorithms
// and Applications", 2018, appendix C). Rows lead.
#pragma once

#include <ATen/core/Tensor.h>

#include "lockstep/core/random.hpp"
#include "lockstep/nn/action_bounds.hpp"

namespace lockstep::nn {

struct ActionSample {
  at::Tensor action;    // [rows, a]
  at::Tensor log_prob;  // [rows]
};

class TanhNormal {
 public:
  // mean, log_std [rows, a]: u ~ N(mean, exp(log_std)), action = the scale's image of tanh(u).
  TanhNormal(const at::Tensor& mean, const at::Tensor& log_std, const ActionScale& scale);
  // The action of standard normal `noise` [rows, a] (u = mean + exp(log_std) noise) and its log density, both
  // differentiable: log N(u) - sum 2 (log 2 - u - softplus(-2u)) - sum log half width.
  ActionSample rsample(const at::Tensor& noise) const;
  // Log density of an action [rows, a] strictly inside the bounds; atanh loses digits near them, where
  // rsample's does not.
  at::Tensor log_prob(const at::Tensor& action) const;
  at::Tensor mode() const;                        // the image of tanh(mean), [rows, a]
  at::Tensor sample(RandomStream& stream) const;  // [rows, a], rows * a draws; no gradient

 private:
  at::Tensor density(const at::Tensor& u, const at::Tensor& z) const;

  at::Tensor mean_, log_std_;
  ActionScale scale_;
};

}  // namespace lockstep::nn
