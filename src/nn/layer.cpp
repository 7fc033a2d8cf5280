#include "layer.hpp"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

#include <algorithm>
#include <vector>

#include "kernels.hpp"
#include "lockstep/nn/dense.hpp"
#include "multiply.hpp"

namespace lockstep::nn {
namespace {

template <class Scalar>
void fill_rows(at::Tensor& out, const at::Tensor& row) {
  const std::int64_t rows = out.size(0), columns = out.size(1);
  const auto* from = row.const_data_ptr<Scalar>();
  auto* to = out.data_ptr<Scalar>();
  for (std::int64_t i = 0; i < rows; ++i) to = std::copy_n(from, columns, to);
}

}  // namespace

at::Tensor affine(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  at::Tensor out = at::empty({input.size(0), weight.size(0)}, weight.options());
  if (!is_dense(input) || !is_dense(weight) || !is_dense(bias)) {
    // addmm.out, not linear: autocast leaves it alone, so the layer computes in its parameters' dtype.
    return at::addmm_out(out, bias, input, weight.t());
  }
  AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), "affine", [&] { fill_rows<scalar_t>(out, bias); });
  multiply(out, Into::add, input, Transpose::no, weight, Transpose::yes);
  return out;
}

void activate(at::Tensor& values, Activation activation) {
  if (activation == Activation::relu) {
    values.relu_();
  } else if (!is_dense(values)) {
    values.tanh_();
  } else {
    AT_DISPATCH_FLOATING_TYPES(values.scalar_type(), "tanh", [&] {
      tanh_in_place(values.data_ptr<scalar_t>(), static_cast<std::size_t>(values.numel()));
    });
  }
}

void through_activation(at::Tensor& gradient, const at::Tensor& output, Activation activation) {
  if (activation == Activation::relu) {
    at::threshold_backward_out(gradient, gradient, output, 0);
  } else if (!is_dense(gradient) || !is_dense(output)) {
    at::tanh_backward_out(gradient, gradient, output);
  } else {
    AT_DISPATCH_FLOATING_TYPES(gradient.scalar_type(), "tanh_backward", [&] {
      tanh_backward(gradient.data_ptr<scalar_t>(), output.const_data_ptr<scalar_t>(),
                    static_cast<std::size_t>(gradient.numel()));
    });
  }
}

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  if (!is_dense(a) || !is_dense(b)) return at::mm(a, b);
  const at::Tensor out = at::empty({a.size(0), b.size(1)}, a.options());
  multiply(out, Into::overwrite, a, Transpose::no, b, Transpose::no);
  return out;
}

at::Tensor transposed_product(const at::Tensor& a, const at::Tensor& b) {
  if (!is_dense(a) || !is_dense(b)) return at::mm(a.t(), b);
  const at::Tensor out = at::empty({a.size(1), b.size(1)}, a.options());
  multiply(out, Into::overwrite, a, Transpose::yes, b, Transpose::no);
  return out;
}

at::Tensor column_sums(const at::Tensor& values) {
  if (!is_dense(values)) return values.sum(0);
  const auto rows = static_cast<std::size_t>(values.size(0)),
             columns = static_cast<std::size_t>(values.size(1));
  const at::Tensor out = at::empty({values.size(1)}, values.options());
  std::vector<double> sums(columns);
  AT_DISPATCH_FLOATING_TYPES(values.scalar_type(), "column_sums", [&] {
    add_columns(sums.data(), values.const_data_ptr<scalar_t>(), rows, columns);
    std::transform(sums.begin(), sums.end(), out.data_ptr<scalar_t>(),
                   [](double sum) { return static_cast<scalar_t>(sum); });
  });
  return out;
}

}  // namespace lockstep::nn
