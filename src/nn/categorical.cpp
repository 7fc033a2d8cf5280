#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <cmath>

#include "categorical_node.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/nn/distributions.hpp"

namespace lockstep::nn {
namespace {

void require_action(const at::Tensor& action, const at::Tensor& logits) {
  if (action.dim() != 1 || action.size(0) != logits.size(0) || action.scalar_type() != at::kLong) {
    throw ContractError(c10::str("a categorical action must be int64 of shape [", logits.size(0), "], not ",
                                 action.scalar_type(), " of shape ", action.sizes()));
  }
}

// The first index whose cumulative weight passes u times the whole; u in [0, 1).
std::int64_t inverse_cdf(const double* logits, std::int64_t count, double u) {
  double largest = logits[0];
  for (std::int64_t i = 1; i < count; ++i) largest = std::max(largest, logits[i]);
  double whole = 0;
  for (std::int64_t i = 0; i < count; ++i) whole += std::exp(logits[i] - largest);
  double cumulative = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    cumulative += std::exp(logits[i] - largest);
    if (cumulative > u * whole) return i;
  }
  throw NumericError("cannot sample an action: the policy's logits are not finite");
}

}  // namespace

Categorical::Categorical(const at::Tensor& logits) : logits_(logits) {
  if (logits.dim() != 2 || logits.size(1) < 1) {
    throw ContractError(c10::str("logits must have shape [rows, n], n > 0, not ", logits.sizes()));
  }
}

at::Tensor Categorical::log_prob(const at::Tensor& action) const {
  require_action(action, logits_);
  return at::log_softmax(logits_, 1).gather(1, action.unsqueeze(1)).squeeze(1);
}

at::Tensor Categorical::entropy() const {
  const at::Tensor log_probabilities = at::log_softmax(logits_, 1);
  return -(log_probabilities.exp() * log_probabilities).sum(1);
}

LogProbEntropy Categorical::evaluate(const at::Tensor& action) const {
  require_action(action, logits_);
  if (!CategoricalNode::serves(logits_, action)) return {log_prob(action), entropy()};
  return CategoricalNode::evaluate(logits_, action);
}

at::Tensor Categorical::mode() const {
  return logits_.argmax(1);
}

at::Tensor Categorical::sample(RandomStream& stream) const {
  const at::NoGradGuard no_grad;
  const at::Tensor logits = logits_.to(at::kCPU, at::kDouble).contiguous();
  const std::int64_t rows = logits.size(0), count = logits.size(1);
  at::Tensor action = at::empty({rows}, at::kLong);
  for (std::int64_t row = 0; row < rows; ++row) {
    action.data_ptr<std::int64_t>()[row] =
        inverse_cdf(logits.const_data_ptr<double>() + row * count, count, stream.uniform());
  }
  return action.to(logits_.device());
}

}  // namespace lockstep::nn
