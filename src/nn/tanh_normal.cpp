#include "lockstep/nn/tanh_normal.hpp"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <cmath>
#include <numbers>

#include "lockstep/core/error.hpp"

namespace lockstep::nn {
namespace {

const double half_log_two_pi = 0.5 * std::log(2 * std::numbers::pi);
// Above it softplus(x) is x to the last bit of a double; exp of it is finite in float32.
constexpr double softplus_threshold = 80;

void require_like(const at::Tensor& tensor, const at::Tensor& mean, const char* what) {
  if (tensor.sizes() != mean.sizes() || tensor.scalar_type() != mean.scalar_type()) {
    throw ContractError(c10::str("a tanh-normal's ", what, " must be ", mean.scalar_type(), " of shape ",
                                 mean.sizes(), ", as its mean is, not ", tensor.scalar_type(), " of shape ",
                                 tensor.sizes()));
  }
}

}  // namespace

TanhNormal::TanhNormal(const at::Tensor& mean, const at::Tensor& log_std, const ActionScale& scale)
    : mean_(mean), log_std_(log_std), scale_(scale) {
  if (mean.dim() != 2) {
    throw ContractError(c10::str("a tanh-normal's mean must have shape [rows, a], not ", mean.sizes()));
  }
  require_like(log_std, mean, "log_std");
}

// Of the action of u, z = (u - mean) / deviation; log 1 - tanh(u)^2 = 2 (log 2 - u - softplus(-2u)).
at::Tensor TanhNormal::density(const at::Tensor& u, const at::Tensor& z) const {
  const at::Tensor normal = z.square() * -0.5 - log_std_ - half_log_two_pi;
  const at::Tensor log_slope = 2 * (std::numbers::ln2 - u - at::softplus(u * -2, 1, softplus_threshold));
  return (normal - log_slope).sum(1) - scale_.log_volume();
}

ActionSample TanhNormal::rsample(const at::Tensor& noise) const {
  require_like(noise, mean_, "noise");
  const at::Tensor u = mean_ + log_std_.exp() * noise;
  return {scale_.to_bounds(u.tanh()), density(u, noise)};
}

at::Tensor TanhNormal::log_prob(const at::Tensor& action) const {
  require_like(action, mean_, "action");
  const at::Tensor u = scale_.to_unit(action).atanh();
  return density(u, (u - mean_) * (-log_std_).exp());
}

at::Tensor TanhNormal::mode() const {
  return scale_.to_bounds(mean_.tanh());
}

at::Tensor TanhNormal::sample(RandomStream& stream) const {
  const at::NoGradGuard no_grad;
  at::Tensor noise = at::empty(mean_.sizes(), at::kDouble);
  stream.fill_normal({noise.data_ptr<double>(), static_cast<std::size_t>(noise.numel())});
  const at::Tensor mean = mean_.to(at::kCPU, at::kDouble), log_std = log_std_.to(at::kCPU, at::kDouble);
  return scale_.to_bounds((mean + log_std.exp() * noise).tanh()).to(mean_.options());
}

}  // namespace lockstep::nn
