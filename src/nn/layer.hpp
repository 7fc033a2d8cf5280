// Private: what an Mlp computes in a layer, forward and backward, below autograd. In CPU memory without
// LibTorch's cost per operator, which is most of the time of small layers; elsewhere by its operators.
#pragma once

#include <ATen/core/Tensor.h>

#include "lockstep/nn/mlp.hpp"

namespace lockstep::nn {

at::Tensor affine(const at::Tensor& input, const at::Tensor& weight,
                  const at::Tensor& bias);                 // input weight^T + bias
void activate(at::Tensor& values, Activation activation);  // in place
// gradient *= the activation's derivative, in place; from its output, which both derivatives can be written
// in.
void through_activation(at::Tensor& gradient, const at::Tensor& output, Activation activation);
at::Tensor product(const at::Tensor& a, const at::Tensor& b);             // a b
at::Tensor transposed_product(const at::Tensor& a, const at::Tensor& b);  // a^T b
at::Tensor column_sums(const at::Tensor& values);                         // [rows, n] -> [n]

}  // namespace lockstep::nn
