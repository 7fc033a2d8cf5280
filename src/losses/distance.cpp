#include "lockstep/losses/distance.hpp"

#include <ATen/ATen.h>

#include "lockstep/core/error.hpp"

namespace lockstep::losses {

Distance distance_from(const std::string& name) {
  if (name == "l1") return Distance::l1;
  if (name == "l2") return Distance::l2;
  if (name == "smooth_l1") return Distance::smooth_l1;
  throw InputError("unknown distance '" + name + "'; known are l1, l2 and smooth_l1");
}

at::Tensor distance(Distance kind, const at::Tensor& value, const at::Tensor& target) {
  switch (kind) {
    case Distance::l1:
      return (value - target).abs();
    case Distance::l2:
      return (value - target).square();
    case Distance::smooth_l1:
      break;
  }
  return at::smooth_l1_loss(value, target, at::Reduction::None);
}

}  // namespace lockstep::losses
