// The box of a continuous action, and the affine map from [-1, 1] onto it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace lockstep::nn {

struct ActionBounds {
  std::vector<double> low, high;  // one a dimension; both empty: [-1, 1]
};

// The affine map from [-1, 1] to the bounds, for tensors of any floating dtype. ContractError unless the
// bounds are finite, as many as the dimensions (or none), and low < high.
class ActionScale {
 public:
  ActionScale(const ActionBounds& bounds, std::int64_t dimensions);
  at::Tensor to_bounds(const at::Tensor& unit_action) const;  // [rows, a] in [-1, 1] -> inside the bounds
  at::Tensor to_unit(const at::Tensor& action) const;         // its inverse
  at::Tensor clamp(const at::Tensor& action) const;           // [rows, a], to the bounds
  double log_volume() const noexcept { return log_volume_; }  // sum over dimensions of log half width

 private:
  bool unit_ = true;                             // [-1, 1] in every dimension: nothing to map
  at::Tensor low_, high_, centre_, half_width_;  // [a] float64
  double log_volume_ = 0.0;
};

}  // namespace lockstep::nn
