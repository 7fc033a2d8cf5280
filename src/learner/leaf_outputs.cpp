#include "leaf_outputs.hpp"

#include <ATen/core/Tensor.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "lockstep/core/error.hpp"

namespace lockstep::learner {
namespace {

using losses::is_loss;
using losses::merges_by_maximum;

std::string shape_text(const at::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.sizes();
  return text.str();
}

std::vector<std::string> names_of(const losses::Outputs& outputs) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : outputs) names.push_back(name);
  return names;
}

void check_scalar(const std::string& name, const at::Tensor& tensor) {
  if (tensor.dim() != 0)
    throw ContractError(
        fmt::format("the loss's output '{}' has shape {}; it must be a scalar (0-d): reduce it with the "
                    "global totals",
                    name, shape_text(tensor)));
}

}  // namespace

void LeafOutputs::add(const losses::Outputs& outputs) {
  if (names_.empty()) {
    names_ = names_of(outputs);
    const auto maxima = std::ranges::count_if(names_, merges_by_maximum);
    maxima_.assign(static_cast<std::size_t>(maxima), -std::numeric_limits<double>::infinity());
    sums_.resize(names_.size() - maxima_.size());
  } else if (names_.size() != outputs.size() ||
             !std::ranges::equal(names_, outputs, {}, {}, [](const auto& output) { return output.first; })) {
    throw ContractError(fmt::format("the loss's outputs changed from one leaf to the next: {} -> {}",
                                    fmt::join(names_, ", "), fmt::join(names_of(outputs), ", ")));
  }
  auto sum = sums_.begin();
  auto maximum = maxima_.begin();
  for (const auto& [name, tensor] : outputs) {
    check_scalar(name, tensor);
    const double value = tensor.item<double>();
    if (!merges_by_maximum(name))
      (sum++)->add(value);
    else if (std::isnan(value) || value > *maximum)
      *maximum++ = value;
    else
      ++maximum;
  }
}

void LeafOutputs::join(StepMessage& message) {
  for (ExactSum& sum : sums_) message.add(sum);
  for (double& maximum : maxima_) message.add_maximum(maximum);
}

std::map<std::string, double> LeafOutputs::values() const {
  std::map<std::string, double> values;
  auto sum = sums_.begin();
  auto maximum = maxima_.begin();
  for (const std::string& name : names_)
    values[name] = merges_by_maximum(name) ? *maximum++ : (sum++)->value();
  return values;
}

bool LeafOutputs::losses_finite() const {
  auto sum = sums_.begin();
  for (const std::string& name : names_) {
    if (merges_by_maximum(name)) continue;
    if (is_loss(name) && !std::isfinite(sum->value())) return false;
    ++sum;
  }
  return true;
}

at::Tensor total_loss(const losses::Outputs& outputs) {
  at::Tensor total;
  for (const auto& [name, tensor] : outputs) {
    if (!is_loss(name)) continue;
    check_scalar(name, tensor);
    total = total.defined() ? total + tensor : tensor;
  }
  if (!total.defined())
    throw ContractError(
        fmt::format("no output of the loss begins with 'loss', so there is nothing to minimise; found: {}",
                    outputs.empty() ? "none" : fmt::format("{}", fmt::join(names_of(outputs), ", "))));
  return total;
}

}  // namespace lockstep::learner
