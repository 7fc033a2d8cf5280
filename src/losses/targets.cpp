#include "targets.hpp"

#include <ATen/core/grad_mode.h>
#include <c10/util/StringUtil.h>

#include "lockstep/core/error.hpp"

namespace lockstep::losses {

void copy_parameters(const torch::nn::Module& target, const torch::nn::Module& source) {
  const at::NoGradGuard no_grad;
  const auto from = source.named_parameters();
  for (const auto& item : target.named_parameters()) item.value().copy_(from[item.key()]);
}

void add_pairs(const torch::nn::Module& target, const torch::nn::Module& source, TargetUpdate& update) {
  const auto from = source.named_parameters();
  for (const auto& item : target.named_parameters()) {
    update.pairs.emplace_back(item.value(), from[item.key()]);
  }
}

void become_target(torch::nn::Module& target, const torch::nn::Module& source, at::ScalarType type) {
  target.to(type);
  for (const at::Tensor& parameter : target.parameters()) parameter.set_requires_grad(false);
  copy_parameters(target, source);
}

void require_target_options(double gamma, double tau, std::int64_t every) {
  if (!(gamma >= 0 && gamma <= 1)) throw ContractError(c10::str("gamma must lie in [0, 1], not ", gamma));
  if (!(tau > 0 && tau <= 1)) throw ContractError(c10::str("tau must lie in (0, 1], not ", tau));
  if (every < 1) throw ContractError(c10::str("targets follow every 1 step or more, not ", every));
}

}  // namespace lockstep::losses
