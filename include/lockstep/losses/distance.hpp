// How far a prediction lies from its target.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace lockstep::losses {

enum class Distance : std::uint8_t { l1, l2, smooth_l1 };  // l2 has no half; smooth_l1 has beta 1
Distance distance_from(const std::string& name);           // InputError otherwise

// Element by element, differentiable by both.
at::Tensor distance(Distance kind, const at::Tensor& value, const at::Tensor& target);

}  // namespace lockstep::losses
