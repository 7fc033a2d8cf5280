#include "mixed_precision.hpp"

#include <ATen/autocast_mode.h>
#include <spdlog/fmt/fmt.h>

#include "lockstep/core/error.hpp"

namespace lockstep::learner {

Precision precision_from(const std::string& name) {
  if (name == "float32") return Precision::float32;
  if (name == "bfloat16") return Precision::bfloat16;
  if (name == "float16") return Precision::float16;
  throw InputError(fmt::format("unknown precision '{}'; known: float32, bfloat16, float16", name));
}

AutocastGuard::AutocastGuard(Precision precision) : active_(precision != Precision::float32) {
  if (!active_) return;
  was_enabled_ = at::autocast::is_autocast_enabled(at::kCPU);
  old_type_ = at::autocast::get_autocast_dtype(at::kCPU);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, precision == Precision::float16 ? at::kHalf : at::kBFloat16);
  at::autocast::increment_nesting();
}

AutocastGuard::~AutocastGuard() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, was_enabled_);
  at::autocast::set_autocast_dtype(at::kCPU, old_type_);
}

void LossScale::good_step() noexcept {
  if (!active_ || ++good_steps_ < growth_interval) return;
  good_steps_ = 0;
  scale_ *= 2;
}

bool LossScale::bad_step() noexcept {
  good_steps_ = 0;
  if (!active_ || scale_ <= 1) return false;
  scale_ /= 2;
  return true;
}

void LossScale::add_state(StateView& view) {
  if (!active_) return;
  view.add_whole("training/counters/loss_scale", Dtype::float64, {}, &scale_);
  view.add_whole("training/counters/loss_scale_good_steps", Dtype::int64, {}, &good_steps_);
}

}  // namespace lockstep::learner
