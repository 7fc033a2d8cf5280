#include "normal_node.hpp"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "lockstep/nn/dense.hpp"

namespace lockstep::nn {
namespace {

const double half_log_two_pi = 0.5 * std::log(2 * std::numbers::pi);

bool has_dense_rows(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.is_cpu() && tensor.scalar_type() == type && tensor.stride(-1) == 1;
}

// log_std's gradient of one row in double, kept a row apart or summed over rows where all rows share log_std.
at::Tensor log_std_gradient(const std::vector<double>& by_row, const at::Tensor& like) {
  const at::Tensor all = at::from_blob(const_cast<double*>(by_row.data()), like.sizes(), at::kDouble);
  return all.to(like.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
}

}  // namespace

bool NormalNode::serves(const at::Tensor& mean, const at::Tensor& log_std, const at::Tensor& action) {
  const auto type = mean.scalar_type();
  return (type == at::kFloat || type == at::kDouble) && has_dense_rows(mean, type) &&
         has_dense_rows(log_std, type) && has_dense_rows(action, type) && !wants_graph(action);
}

LogProbEntropy NormalNode::evaluate(const at::Tensor& mean, const at::Tensor& log_std,
                                    const at::Tensor& action) {
  const std::int64_t rows = mean.size(0), width = mean.size(1);
  const LogProbEntropy result{at::empty({rows}, mean.options()), at::empty({rows}, mean.options())};
  AT_DISPATCH_FLOATING_TYPES(mean.scalar_type(), "normal", [&] {
    const DenseRows<scalar_t> means(mean), log_stds(log_std), actions(action);
    for (std::int64_t row = 0; row < rows; ++row) {
      double log_prob = 0, entropy = 0;
      for (std::int64_t j = 0; j < width; ++j) {
        const double s = log_stds[row][j];
        const double z = (static_cast<double>(actions[row][j]) - means[row][j]) * std::exp(-s);
        log_prob -= 0.5 * z * z + s + half_log_two_pi;
        entropy += 0.5 + half_log_two_pi + s;
      }
      result.log_prob.template data_ptr<scalar_t>()[row] = static_cast<scalar_t>(log_prob);
      result.entropy.template data_ptr<scalar_t>()[row] = static_cast<scalar_t>(entropy);
    }
  });
  if (wants_graph(mean, log_std)) {
    record(c10::make_intrusive<NormalNode>(mean, log_std, action), {result.log_prob, result.entropy}, mean,
           log_std);
  }
  return result;
}

NormalNode::NormalNode(const at::Tensor& mean, const at::Tensor& log_std, const at::Tensor& action)
    : mean_(mean, false), log_std_(log_std, false), action_(action, false) {}

torch::autograd::variable_list NormalNode::backward(const torch::autograd::variable_list& gradients) {
  const at::Tensor mean = mean_.unpack(), log_std = log_std_.unpack(), action = action_.unpack();
  const std::int64_t rows = mean.size(0), width = mean.size(1);
  const std::int64_t log_std_stride = log_std.dim() == 2 ? width : 0;
  const at::Tensor of_mean = at::empty(mean.sizes(), mean.options());
  std::vector<double> of_log_std(static_cast<std::size_t>(log_std.numel()), 0.0);
  AT_DISPATCH_FLOATING_TYPES(mean.scalar_type(), "normal_backward", [&] {
    const DenseRows<scalar_t> means(mean), log_stds(log_std), actions(action);
    const DenseVector<scalar_t> of_log_prob(gradients[0]), of_entropy(gradients[1]);
    auto* out = of_mean.template data_ptr<scalar_t>();
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t j = 0; j < width; ++j, ++out) {
        const double inverse_std = std::exp(-static_cast<double>(log_stds[row][j]));
        const double z = (static_cast<double>(actions[row][j]) - means[row][j]) * inverse_std;
        *out = static_cast<scalar_t>(of_log_prob[row] * z * inverse_std);
        of_log_std[static_cast<std::size_t>(row * log_std_stride + j)] +=
            of_log_prob[row] * (z * z - 1) + of_entropy[row];
      }
    }
  });
  return {of_mean, needed(1) ? log_std_gradient(of_log_std, log_std) : at::Tensor()};
}

void NormalNode::release() {
  mean_.reset_data();
  log_std_.reset_data();
  action_.reset_data();
}

}  // namespace lockstep::nn
