#include "leaf_outputs.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "lockstep/core/error.hpp"

namespace lockstep::learner {
namespace {

using losses::is_loss;
using losses::is_row_output;
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

void check_rows(const std::string& name, const at::Tensor& tensor) {
  if (tensor.dim() != 1)
    throw ContractError(
        fmt::format("the loss's output '{}' has shape {}; a row output has one value a row: [rows]", name,
                    shape_text(tensor)));
}

}  // namespace

void LeafOutputs::add(const losses::Outputs& outputs) {
  if (names_.empty()) {
    names_ = names_of(outputs);
    const auto maxima = std::ranges::count_if(names_, merges_by_maximum);
    const auto rows = std::ranges::count_if(names_, is_row_output);
    maxima_.assign(static_cast<std::size_t>(maxima), -std::numeric_limits<double>::infinity());
    sums_.resize(names_.size() - static_cast<std::size_t>(maxima + rows));
  } else if (names_.size() != outputs.size() ||
             !std::ranges::equal(names_, outputs, {}, {}, [](const auto& output) { return output.first; })) {
    throw ContractError(fmt::format("the loss's outputs changed from one leaf to the next: {} -> {}",
                                    fmt::join(names_, ", "), fmt::join(names_of(outputs), ", ")));
  }
  auto sum = sums_.begin();
  auto maximum = maxima_.begin();
  for (const auto& [name, tensor] : outputs) {
    if (is_row_output(name)) {
      check_rows(name, tensor);
      rows_[name].push_back(tensor.detach());
      continue;
    }
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
    if (!is_row_output(name)) values[name] = merges_by_maximum(name) ? *maximum++ : (sum++)->value();
  return values;
}

std::vector<std::map<std::string, at::Tensor>> LeafOutputs::rows(std::size_t shards) const {
  std::vector<std::map<std::string, at::Tensor>> by_shard(shards);
  for (const auto& [name, leaves] : rows_) {
    const std::size_t per_shard = leaves.size() / shards;
    for (std::size_t shard = 0; shard < shards; ++shard)
      by_shard[shard][name] = at::cat(at::TensorList(leaves.data() + shard * per_shard, per_shard));
  }
  return by_shard;
}

bool LeafOutputs::losses_finite() const {
  auto sum = sums_.begin();
  for (const std::string& name : names_) {
    if (merges_by_maximum(name) || is_row_output(name)) continue;
    if (is_loss(name) && !std::isfinite(sum->value())) return false;
    ++sum;
  }
  return true;
}

std::vector<at::Tensor> losses_of(const losses::Outputs& outputs) {
  std::vector<at::Tensor> found;
  for (const auto& [name, tensor] : outputs) {
    if (!is_loss(name)) continue;
    check_scalar(name, tensor);
    found.push_back(tensor);
  }
  if (found.empty())
    throw ContractError(
        fmt::format("no output of the loss begins with 'loss', so there is nothing to minimise; found: {}",
                    outputs.empty() ? "none" : fmt::format("{}", fmt::join(names_of(outputs), ", "))));
  return found;
}

}  // namespace lockstep::learner
