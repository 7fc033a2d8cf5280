#include "lockstep/envs/action_rows.hpp"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include "lockstep/core/error.hpp"

namespace lockstep::envs {
namespace {

void check(const EnvironmentSpec& spec, const at::Tensor& action, std::int64_t rows) {
  const bool discrete = spec.action.discrete;
  const bool shaped = action.dim() == (discrete ? 1 : 2) && action.size(0) == rows &&
                      (discrete || action.size(1) == spec.action.size);
  if (shaped && action.scalar_type() == (discrete ? at::kLong : at::kFloat) && action.is_cpu()) return;
  throw ContractError(fmt::format(
      "{}: actions are {} [{}] on {}; they must be {} on the CPU", spec.name,
      c10::toString(action.scalar_type()), fmt::join(action.sizes(), ", "), action.device().str(),
      discrete ? fmt::format("Long [{}]", rows) : fmt::format("Float [{}, {}]", rows, spec.action.size)));
}

}  // namespace

ActionRows::ActionRows(const EnvironmentSpec& spec, const at::Tensor& action, std::int64_t rows) {
  check(spec, action, rows);
  action_ = action.contiguous();
  if (spec.action.discrete) {
    integers_ = action_.const_data_ptr<std::int64_t>();
  } else {
    floats_ = action_.const_data_ptr<float>();
    size_ = spec.action.size;
  }
}

std::span<const float> ActionRows::row(std::int64_t index) noexcept {
  if (floats_ != nullptr) return {floats_ + index * size_, static_cast<std::size_t>(size_)};
  number_ = static_cast<float>(integers_[index]);
  return {&number_, 1};
}

}  // namespace lockstep::envs
