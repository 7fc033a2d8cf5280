// Autocast around a leaf's forward, and the scale that keeps float16 gradients from vanishing.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "lockstep/data/state_view.hpp"
#include "lockstep/learner/optimization_stepper.hpp"

namespace lockstep::learner {

// Autocast to the precision's type while it lives, on the CPU; nothing for float32. Weights cast in one leaf
// are forgotten at its end: the next leaf may follow a step.
class AutocastGuard {
 public:
  explicit AutocastGuard(Precision precision);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  bool active_, was_enabled_ = false;
  at::ScalarType old_type_ = at::kBFloat16;
};

// Dynamic loss scale, a power of two (Micikevicius et al., "Mixed Precision Training", 2018): halved by a
// step that is not finite, doubled after `growth_interval` good ones, as torch.amp.GradScaler does. 1 and
// constant unless the precision is float16.
class LossScale {
 public:
  static constexpr std::int64_t growth_interval = 2000;
  explicit LossScale(Precision precision)
      : active_(precision == Precision::float16), scale_(active_ ? 65536.0 : 1.0) {}
  double value() const noexcept { return scale_; }
  void good_step() noexcept;
  // Whether the scale was to blame, and was lowered.
  bool bad_step() noexcept;
  void add_state(StateView& view);

 private:
  bool active_;
  double scale_;
  std::int64_t good_steps_ = 0;
};

}  // namespace lockstep::learner
