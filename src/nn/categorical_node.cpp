#include "categorical_node.hpp"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cmath>

#include "lockstep/core/error.hpp"
#include "lockstep/nn/dense.hpp"

namespace lockstep::nn {
namespace {

// log_softmax of one row; returns its entropy.
template <class Scalar>
double log_softmax_row(const Scalar* logits, double* log_probabilities, std::int64_t count) {
  const double largest = *std::max_element(logits, logits + count);
  double whole = 0;
  for (std::int64_t i = 0; i < count; ++i) whole += std::exp(logits[i] - largest);
  const double log_whole = std::log(whole);
  double entropy = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    log_probabilities[i] = logits[i] - largest - log_whole;
    entropy -= std::exp(log_probabilities[i]) * log_probabilities[i];
  }
  return entropy;
}

void require_index(std::int64_t action, std::int64_t count, std::int64_t row) {
  if (action < 0 || action >= count) {
    throw ContractError(c10::str("action ", action, " in row ", row, " is not in [0, ", count, ")"));
  }
}

}  // namespace

bool CategoricalNode::serves(const at::Tensor& logits, const at::Tensor& action) {
  return is_dense(logits) && action.is_cpu() && action.is_contiguous();
}

LogProbEntropy CategoricalNode::evaluate(const at::Tensor& logits, const at::Tensor& action) {
  const std::int64_t rows = logits.size(0), count = logits.size(1);
  const at::Tensor log_probabilities = at::empty({rows, count}, at::kDouble);
  const at::Tensor exact_entropy = at::empty({rows}, at::kDouble);
  const LogProbEntropy result{at::empty({rows}, logits.options()), at::empty({rows}, logits.options())};
  AT_DISPATCH_FLOATING_TYPES(logits.scalar_type(), "categorical", [&] {
    const auto* from = logits.const_data_ptr<scalar_t>();
    const auto* chosen = action.const_data_ptr<std::int64_t>();
    auto* saved = log_probabilities.data_ptr<double>();
    auto* log_prob = result.log_prob.data_ptr<scalar_t>();
    auto* entropy = result.entropy.data_ptr<scalar_t>();
    for (std::int64_t row = 0; row < rows; ++row) {
      require_index(chosen[row], count, row);
      double* row_saved = saved + row * count;
      const double row_entropy = log_softmax_row(from + row * count, row_saved, count);
      exact_entropy.data_ptr<double>()[row] = row_entropy;
      entropy[row] = static_cast<scalar_t>(row_entropy);
      log_prob[row] = static_cast<scalar_t>(row_saved[chosen[row]]);
    }
  });
  if (wants_graph(logits)) {
    record(
        c10::make_intrusive<CategoricalNode>(logits.scalar_type(), log_probabilities, exact_entropy, action),
        {result.log_prob, result.entropy}, logits);
  }
  return result;
}

CategoricalNode::CategoricalNode(at::ScalarType type, at::Tensor log_probabilities, at::Tensor entropy,
                                 const at::Tensor& action)
    : type_(type),
      log_probabilities_(std::move(log_probabilities)),
      entropy_(std::move(entropy)),
      action_(action, false) {}

torch::autograd::variable_list CategoricalNode::backward(const torch::autograd::variable_list& gradients) {
  const std::int64_t rows = log_probabilities_.size(0), count = log_probabilities_.size(1);
  const at::Tensor action = action_.unpack();
  const at::Tensor result = at::empty({rows, count}, type_);
  AT_DISPATCH_FLOATING_TYPES(type_, "categorical_backward", [&] {
    const DenseVector<scalar_t> of_log_prob(gradients[0]), of_entropy(gradients[1]);
    const auto* log_probabilities = log_probabilities_.const_data_ptr<double>();
    const auto* entropy = entropy_.const_data_ptr<double>();
    const auto* chosen = action.const_data_ptr<std::int64_t>();
    auto* out = result.data_ptr<scalar_t>();
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t j = 0; j < count; ++j, ++log_probabilities, ++out) {
        const double probability = std::exp(*log_probabilities);
        const double chosen_part = of_log_prob[row] * ((j == chosen[row] ? 1.0 : 0.0) - probability);
        const double entropy_part = of_entropy[row] * probability * (*log_probabilities + entropy[row]);
        *out = static_cast<scalar_t>(chosen_part - entropy_part);
      }
    }
  });
  return {result};
}

void CategoricalNode::release() {
  log_probabilities_.reset();
  entropy_.reset();
  action_.reset_data();
}

}  // namespace lockstep::nn
