#include "lockstep/nn/action_bounds.hpp"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <cmath>

#include "lockstep/core/error.hpp"

namespace lockstep::nn {
namespace {

void require_bounds(const ActionBounds& bounds, std::int64_t dimensions) {
  const auto count = static_cast<std::size_t>(dimensions);
  if (bounds.low.size() != count || bounds.high.size() != count) {
    throw ContractError(c10::str("an action of ", dimensions, " dimensions needs as many bounds, not ",
                                 bounds.low.size(), " lower and ", bounds.high.size(), " upper ones"));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double low = bounds.low[i], high = bounds.high[i];
    if (!(std::isfinite(low) && std::isfinite(high) && low < high)) {
      throw ContractError(c10::str("action dimension ", i, " has the bounds [", low, ", ", high,
                                   "]; they must be finite, the lower below the upper"));
    }
  }
}

// In the dtype and on the device of `like`, so that a product with it is not promoted to float64.
at::Tensor as(const at::Tensor& values, const at::Tensor& like) {
  return values.to(like.options());
}

}  // namespace

ActionScale::ActionScale(const ActionBounds& bounds, std::int64_t dimensions) {
  if (dimensions < 1) throw ContractError(c10::str("an action needs a dimension, not ", dimensions));
  if (bounds.low.empty() && bounds.high.empty()) return;
  require_bounds(bounds, dimensions);
  low_ = at::tensor(bounds.low, at::kDouble);
  high_ = at::tensor(bounds.high, at::kDouble);
  centre_ = (low_ + high_) / 2;
  half_width_ = (high_ - low_) / 2;
  unit_ = (low_ == -1).logical_and(high_ == 1).all().item<bool>();
  log_volume_ = half_width_.log().sum().item<double>();
}

at::Tensor ActionScale::to_bounds(const at::Tensor& unit_action) const {
  return unit_ ? unit_action : unit_action * as(half_width_, unit_action) + as(centre_, unit_action);
}

at::Tensor ActionScale::to_unit(const at::Tensor& action) const {
  return unit_ ? action : (action - as(centre_, action)) / as(half_width_, action);
}

at::Tensor ActionScale::clamp(const at::Tensor& action) const {
  return unit_ ? action.clamp(-1, 1) : action.clamp(as(low_, action), as(high_, action));
}

}  // namespace lockstep::nn
