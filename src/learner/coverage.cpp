#include "coverage.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "lockstep/core/error.hpp"

namespace lockstep::learner {
namespace {

bool holds(const std::vector<ParameterGroup>& groups, const at::Tensor& tensor) {
  return std::ranges::any_of(groups, [&](const ParameterGroup& group) {
    return std::ranges::any_of(group.parameters,
                               [&](const NamedTensor& owned) { return owned.tensor.is_same(tensor); });
  });
}

}  // namespace

Coverage::Coverage(losses::Loss& loss, const std::vector<ParameterGroup>& groups) {
  // All of them, not only those that ask for a gradient now: the set may grow later.
  for (NamedTensor& candidate : all_tensors(loss.module()))
    if (at::isFloatingType(candidate.tensor.scalar_type()) && !holds(groups, candidate.tensor))
      unowned_.push_back(std::move(candidate));
}

void Coverage::check() const {
  std::vector<std::string> missed;
  for (const NamedTensor& parameter : unowned_) {
    if (!parameter.tensor.grad().defined()) continue;
    missed.push_back(parameter.name);
    parameter.tensor.mutable_grad().reset();
  }
  if (missed.empty()) return;
  const std::size_t shown = std::min<std::size_t>(missed.size(), 5);
  const std::string more = missed.size() > shown ? fmt::format(" and {} more", missed.size() - shown) : "";
  missed.resize(shown);
  throw ContractError(
      fmt::format("the loss differentiates parameters that no optimizer group holds: {}{}; add them to a "
                  "group, or set requires_grad to false",
                  fmt::join(missed, ", "), more));
}

}  // namespace lockstep::learner
