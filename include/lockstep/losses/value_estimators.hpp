// Advantage and value-target recursions over a rollout. Inputs [T, n] (time-major), floating; terminated,
// done [T, n] bool. Only `terminated` stops bootstrapping; `done` (terminated or truncated) cuts traces. At
// the window's last step every recursion restarts as at a truncation. Formulas: docs/design.md names each;
// checked against TorchRL 0.14.1.
#pragma once

#include <ATen/core/Tensor.h>

namespace lockstep::losses {

struct ValueEstimate {
  at::Tensor advantage;  // [T, n]
  at::Tensor target;     // [T, n]
};

struct Trajectory {
  at::Tensor reward, value,
      next_value;               // [T, n]; next_value is V of the real next observation, not value shifted
  at::Tensor terminated, done;  // [T, n] bool
};

// Schulman et al., "High-Dimensional Continuous Control Using Generalized Advantage Estimation", 2016.
ValueEstimate gae(const Trajectory& trajectory, double gamma, double lambda);
at::Tensor td0(const Trajectory& trajectory, double gamma);                       // target
at::Tensor td_lambda(const Trajectory& trajectory, double gamma, double lambda);  // target
at::Tensor td1(const Trajectory& trajectory, double gamma);                       // target
// Espeholt et al., "IMPALA", 2018; rho and c clipped at 1.
ValueEstimate vtrace(const Trajectory& trajectory, const at::Tensor& log_pi, const at::Tensor& log_mu,
                     double gamma);

}  // namespace lockstep::losses
