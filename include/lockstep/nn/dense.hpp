// Plain CPU memory for hand-written loops.
#pragma once

#include <ATen/core/Tensor.h>

namespace lockstep::nn {

// float32 or float64 in contiguous CPU memory.
inline bool is_dense(const at::Tensor& tensor) {
  const auto type = tensor.scalar_type();
  return tensor.is_cpu() && tensor.is_contiguous() && (type == at::kFloat || type == at::kDouble);
}

// A gradient [rows] that may be undefined (zero) or expanded, read in double.
template <class Scalar>
class DenseVector {
 public:
  explicit DenseVector(const at::Tensor& tensor)
      : tensor_(tensor.defined() ? tensor.contiguous() : at::Tensor()),
        data_(tensor_.defined() ? tensor_.const_data_ptr<Scalar>() : nullptr) {}
  double operator[](std::int64_t row) const { return data_ ? static_cast<double>(data_[row]) : 0.0; }

 private:
  at::Tensor tensor_;
  const Scalar* data_;
};

// Rows [rows, width] whose elements lie together: a contiguous matrix, columns of one, or one row that all
// share.
template <class Scalar>
class DenseRows {
 public:
  explicit DenseRows(const at::Tensor& tensor)
      : data_(tensor.const_data_ptr<Scalar>()), stride_(tensor.dim() == 2 ? tensor.stride(0) : 0) {}
  const Scalar* operator[](std::int64_t row) const { return data_ + row * stride_; }

 private:
  const Scalar* data_;
  std::int64_t stride_;
};

}  // namespace lockstep::nn
