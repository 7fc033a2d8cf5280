#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <cmath>
#include <numbers>

#include "lockstep/core/error.hpp"
#include "lockstep/nn/distributions.hpp"
#include "normal_node.hpp"

namespace lockstep::nn {
namespace {

const double half_log_two_pi = 0.5 * std::log(2 * std::numbers::pi);

void require_action(const at::Tensor& action, const at::Tensor& mean) {
  if (action.sizes() != mean.sizes() || action.scalar_type() != mean.scalar_type()) {
    throw ContractError(c10::str("a normal action must be ", mean.scalar_type(), " of shape ", mean.sizes(),
                                 ", not ", action.scalar_type(), " of shape ", action.sizes()));
  }
}

}  // namespace

Normal::Normal(const at::Tensor& mean, const at::Tensor& log_std) : mean_(mean), log_std_(log_std) {
  const bool fits = mean.dim() == 2 && (log_std.sizes() == mean.sizes() ||
                                        (log_std.dim() == 1 && log_std.size(0) == mean.size(1)));
  if (!fits) {
    throw ContractError(
        c10::str("a normal needs a mean of shape [rows, a] and a log_std of that or of [a], not ",
                 mean.sizes(), " and ", log_std.sizes()));
  }
}

at::Tensor Normal::log_prob(const at::Tensor& action) const {
  require_action(action, mean_);
  const at::Tensor z = (action - mean_) * at::exp(-log_std_);
  return (z.square() * -0.5 - log_std_ - half_log_two_pi).sum(1);
}

at::Tensor Normal::entropy() const {
  const at::Tensor by_dimension = log_std_ + (0.5 + half_log_two_pi);
  return by_dimension.expand_as(mean_).sum(1);
}

LogProbEntropy Normal::evaluate(const at::Tensor& action) const {
  require_action(action, mean_);
  if (!NormalNode::serves(mean_, log_std_, action)) return {log_prob(action), entropy()};
  return NormalNode::evaluate(mean_, log_std_, action);
}

at::Tensor Normal::mode() const {
  return mean_;
}

at::Tensor Normal::sample(RandomStream& stream) const {
  const at::NoGradGuard no_grad;
  at::Tensor noise = at::empty(mean_.sizes(), at::kDouble);
  stream.fill_normal({noise.data_ptr<double>(), static_cast<std::size_t>(noise.numel())});
  const at::Tensor mean = mean_.to(at::kCPU, at::kDouble), log_std = log_std_.to(at::kCPU, at::kDouble);
  return (mean + log_std.exp() * noise).to(mean_.options());
}

}  // namespace lockstep::nn
