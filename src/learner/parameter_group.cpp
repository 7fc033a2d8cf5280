#include "lockstep/learner/parameter_group.hpp"

#include <spdlog/fmt/fmt.h>

#include <unordered_set>

#include "lockstep/core/error.hpp"

namespace lockstep::learner {

OptimizerKind optimizer_kind_from(const std::string& name) {
  if (name == "adamw") return OptimizerKind::adamw;
  if (name == "adam") return OptimizerKind::adam;
  if (name == "sgd") return OptimizerKind::sgd;
  throw InputError(fmt::format("unknown optimizer '{}'; known: adamw, adam, sgd", name));
}

std::vector<NamedTensor> trainable_parameters(torch::nn::Module& module) {
  std::vector<NamedTensor> found;
  for (NamedTensor& tensor : all_tensors(module))
    if (tensor.tensor.requires_grad()) found.push_back(std::move(tensor));
  return found;
}

std::vector<NamedTensor> all_tensors(torch::nn::Module& module) {
  std::vector<NamedTensor> found;
  std::unordered_set<const void*> seen;
  const auto take = [&](const std::string& name, const at::Tensor& tensor) {
    if (tensor.defined() && seen.insert(tensor.unsafeGetTensorImpl()).second) found.push_back({name, tensor});
  };
  for (const auto& item : module.named_parameters()) take(item.key(), item.value());
  for (const auto& item : module.named_buffers()) take(item.key(), item.value());
  return found;
}

}  // namespace lockstep::learner
