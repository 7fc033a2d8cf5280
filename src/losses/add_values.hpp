// Elements of tensors into exact sums.
#pragma once

#include <ATen/core/Tensor.h>

#include "lockstep/core/exact_sum.hpp"

namespace lockstep::losses {

// Adds every element of `tensor`, any floating dtype, to `sum`.
void add_values(const at::Tensor& tensor, ExactSum& sum);

}  // namespace lockstep::losses
