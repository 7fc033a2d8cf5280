// 0-d outputs of hand-written loops.
#pragma once

#include <ATen/ops/empty.h>

#include "lockstep/nn/dense.hpp"

namespace lockstep::losses {

// A 0-d CPU tensor; float32 or float64.
inline at::Tensor scalar(double value, at::ScalarType type = at::kDouble) {
  const at::Tensor result = at::empty({}, type);
  if (type == at::kDouble) {
    *result.data_ptr<double>() = value;
  } else {
    *result.data_ptr<float>() = static_cast<float>(value);
  }
  return result;
}

// Whether every tensor is dense and of the first one's dtype.
template <class... Tensors>
bool all_dense(const at::Tensor& first, const Tensors&... others) {
  return nn::is_dense(first) &&
         ((nn::is_dense(others) && others.scalar_type() == first.scalar_type()) && ...);
}

}  // namespace lockstep::losses
