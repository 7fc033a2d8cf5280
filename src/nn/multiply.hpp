// Private: products of matrices in dense memory by LibTorch's BLAS, without LibTorch's cost per operator.
#pragma once

#include <ATen/core/Tensor.h>

namespace lockstep::nn {

enum class Transpose : bool { no, yes };
enum class Into : bool { overwrite, add };

// out = a b, or out += a b, each of a and b transposed first where said so. All are contiguous matrices in
// CPU memory and of one dtype, float32 or float64. The very call that at::mm makes, so the same bits.
void multiply(const at::Tensor& out, Into into, const at::Tensor& a, Transpose transpose_a,
              const at::Tensor& b, Transpose transpose_b);

}  // namespace lockstep::nn
