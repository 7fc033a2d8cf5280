// Mean and deviation of the advantage over all rows of a step, from exact sums: no cancellation, the same on
// any ranks.
#pragma once

#include "lockstep/losses/loss.hpp"

namespace lockstep::losses {

// What the advantage is shifted and divided by.
struct Normalization {
  double mean = 0.0;
  double deviation = 1.0;
};

// Adds "advantage" and "advantage_squared" of these rows.
void add_advantage_moments(const at::Tensor& advantage, Totals& totals);

// (A - mean) / max(std, 1e-4), std of the sample (n - 1); fewer than two rows are left as they are.
Normalization advantage_normalization(const Totals& totals);

}  // namespace lockstep::losses
