#include "unit_map.hpp"

#include <algorithm>

namespace lockstep::learner {

std::size_t UnitMap::unit_of(const at::Tensor& parameter) const {
  const auto found = unit_of_parameter_.find(parameter.unsafeGetTensorImpl());
  return found == unit_of_parameter_.end() ? 0 : found->second;
}

void UnitMap::visit(torch::nn::Module& module, std::size_t unit) {
  const std::size_t around = unit;
  std::vector<at::Tensor> outside;
  if (auto* gated = dynamic_cast<nn::Unit*>(&module)) {
    const auto [found, fresh] = unit_of_module_.try_emplace(gated, modules_.size());
    unit = found->second;
    outside = gated->used_outside();
    if (fresh) {
      modules_.push_back(gated);
      needs_.push_back({unit});
    }
  }
  for (const auto& item : module.named_parameters(/*recurse=*/false)) {
    const at::Tensor& parameter = item.value();
    const bool is_outside =
        std::ranges::any_of(outside, [&](const at::Tensor& other) { return other.is_same(parameter); });
    const std::size_t owner = is_outside ? around : unit;
    needs_[owner].insert(
        unit_of_parameter_.try_emplace(parameter.unsafeGetTensorImpl(), owner).first->second);
  }
  for (const auto& child : module.named_children()) visit(*child.value(), unit);
}

}  // namespace lockstep::learner
