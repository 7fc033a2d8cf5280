// Private: loops over dense memory. Plain arithmetic in a fixed order, so that bits depend neither on the
// machine's vectors nor on where an element lies.
#pragma once

#include <cstddef>

namespace lockstep::nn {

// Within 1.5 units in the last place of the exact value; odd, exact at 0, 1 from 9.02 on, NaN stays NaN.
void tanh_in_place(float* values, std::size_t count) noexcept;
void tanh_in_place(double* values, std::size_t count) noexcept;
// gradient *= 1 - output^2.
void tanh_backward(float* gradient, const float* output, std::size_t count) noexcept;
void tanh_backward(double* gradient, const double* output, std::size_t count) noexcept;
// sums[column] += the column of values [rows, columns], row after row in double.
void add_columns(double* sums, const float* values, std::size_t rows, std::size_t columns) noexcept;
void add_columns(double* sums, const double* values, std::size_t rows, std::size_t columns) noexcept;

}  // namespace lockstep::nn
