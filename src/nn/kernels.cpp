#include "kernels.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

// Compiled for wider vectors too, chosen when the program is loaded: too early for a sanitizer. AVX2 brings
// no fused multiply-add, so the bits are the same.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define LOCKSTEP_WIDE [[gnu::target_clones("avx2", "default")]]
#else
#define LOCKSTEP_WIDE
#endif

namespace lockstep::nn {
namespace {

// x + x^3 P(x^2) below 0.625, 1 - 2 / (e^2x + 1) above, for x >= 0; both are computed, so that no branch
// hinders vectors. The polynomials are Chebyshev fits: P to 4e-8, and of e^r to 1e-9 over |r| <= ln 2 / 2.
[[gnu::always_inline]] inline float tanh_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const float size = std::bit_cast<float>(bits & 0x7fffffffu);
  const float square = size * size;
  float p = -6.09671416e-3f;
  p = p * square + 2.099717899e-2f;
  p = p * square - 5.385090958e-2f;
  p = p * square + 0.1333276974f;
  p = p * square - 0.3333332894f;
  const float near_zero = size + size * (square * p);

  const float twice = size > 10.0f ? 20.0f : size + size;
  // Adding 1.5 * 2^23 rounds to an integer n and leaves it in the low bits. e^2x = 2^n e^r.
  const float shifted = twice * 1.44269504f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  const float r = (twice - n * 0.693359375f) - n * -2.12194440e-4f;  // ln 2 in two parts, the first exact
  float q = 1.392617612e-3f;
  q = q * r + 8.363173075e-3f;
  q = q * r + 4.166655466e-2f;
  q = q * r + 0.1666657703f;
  q = q * r + 0.5f;
  const float power_of_two =
      std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3f800000u);
  const float exponential = (1.0f + (r + r * r * q)) * power_of_two;
  const float far = 1.0f - 2.0f / (exponential + 1.0f);

  const float result = size < 0.625f ? near_zero : far;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(result) | (bits & 0x80000000u));
}

template <class Scalar>
[[gnu::always_inline]] inline void multiply_by_slope(Scalar* gradient, const Scalar* output,
                                                     std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) gradient[i] *= 1 - output[i] * output[i];
}

template <class Scalar>
[[gnu::always_inline]] inline void add_rows(double* sums, const Scalar* values, std::size_t rows,
                                            std::size_t columns) {
  for (std::size_t row = 0; row < rows; ++row, values += columns) {
#pragma GCC ivdep
    for (std::size_t column = 0; column < columns; ++column)
      sums[column] += static_cast<double>(values[column]);
  }
}

}  // namespace

LOCKSTEP_WIDE void tanh_in_place(float* values, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) values[i] = tanh_of(values[i]);
}
void tanh_in_place(double* values, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) values[i] = std::tanh(values[i]);
}

LOCKSTEP_WIDE void tanh_backward(float* gradient, const float* output, std::size_t count) noexcept {
  multiply_by_slope(gradient, output, count);
}
LOCKSTEP_WIDE void tanh_backward(double* gradient, const double* output, std::size_t count) noexcept {
  multiply_by_slope(gradient, output, count);
}

LOCKSTEP_WIDE void add_columns(double* sums, const float* values, std::size_t rows,
                               std::size_t columns) noexcept {
  add_rows(sums, values, rows, columns);
}
LOCKSTEP_WIDE void add_columns(double* sums, const double* values, std::size_t rows,
                               std::size_t columns) noexcept {
  add_rows(sums, values, rows, columns);
}

}  // namespace lockstep::nn
