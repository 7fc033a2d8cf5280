#include "entries.hpp"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include "lockstep/core/error.hpp"

namespace lockstep::losses {
namespace {

[[noreturn]] void refuse(std::string_view name, const at::Tensor& tensor, at::ScalarType type,
                         const std::string& shape) {
  throw ContractError(c10::str("batch entry '", name, "' must be ", type, " of shape ", shape, ", not ",
                               tensor.scalar_type(), " of shape ", tensor.sizes()));
}

}  // namespace

const at::Tensor& per_row(const Batch& leaf, std::string_view name, at::ScalarType type) {
  const at::Tensor& tensor = leaf.at(name);
  if (tensor.dim() != 1 || tensor.scalar_type() != type) refuse(name, tensor, type, "[rows]");
  return tensor;
}

const at::Tensor& per_row(const Batch& leaf, std::string_view name, std::int64_t columns,
                          at::ScalarType type) {
  const at::Tensor& tensor = leaf.at(name);
  if (tensor.dim() != 2 || tensor.size(1) != columns || tensor.scalar_type() != type) {
    refuse(name, tensor, type, c10::str("[rows, ", columns, "]"));
  }
  return tensor;
}

const at::Tensor& indices(const Batch& leaf, std::string_view name, std::int64_t count) {
  const at::Tensor& tensor = per_row(leaf, name, at::kLong);
  if (tensor.numel() == 0) return tensor;
  const auto [smallest, largest] = at::aminmax(tensor);
  const auto low = smallest.item<std::int64_t>(), high = largest.item<std::int64_t>();
  if (low < 0 || high >= count) {
    throw ContractError(
        c10::str("batch entry '", name, "' must lie in [0, ", count, "); it holds ", low < 0 ? low : high));
  }
  return tensor;
}

}  // namespace lockstep::losses
