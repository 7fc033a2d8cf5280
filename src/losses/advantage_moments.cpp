#include "advantage_moments.hpp"

#include <ATen/ATen.h>

#include <cmath>

namespace lockstep::losses {
namespace {

constexpr double least_deviation = 1e-4;

// Adds a * b without rounding: the product and the error of its rounding are both doubles.
void add_product(ExactSum& sum, double a, double b) {
  const double product = a * b;
  sum.add(product);
  sum.add(std::fma(a, b, -product));
}

// Sum of (A - mean)^2 = sum of A^2 - 2 mean (sum of A) + n mean^2, every term exact and so free of
// cancellation.
double centred_squares(double rows, const ExactSum& sum, const ExactSum& squares, double mean) {
  const double leading = sum.value();
  ExactSum rest = sum;
  rest.add(-leading);
  ExactSum centred = squares;
  add_product(centred, -2 * mean, leading);
  add_product(centred, -2 * mean, rest.value());
  const double square = mean * mean;
  add_product(centred, rows, square);
  add_product(centred, rows, std::fma(mean, mean, -square));
  return centred.value();
}

}  // namespace

void add_advantage_moments(const at::Tensor& advantage, Totals& totals) {
  const at::Tensor values = advantage.detach().to(at::kCPU, at::kDouble).contiguous();
  ExactSum& sum = totals["advantage"];
  ExactSum& squares = totals["advantage_squared"];
  const double* data = values.const_data_ptr<double>();
  for (const double* value = data; value != data + values.numel(); ++value) {
    sum.add(*value);
    add_product(squares, *value, *value);
  }
}

Normalization advantage_normalization(const Totals& totals) {
  const double rows = totals.at("rows").value();
  if (rows < 2) return {};
  const ExactSum& sum = totals.at("advantage");
  const double mean = sum.value() / rows;
  const double variance = centred_squares(rows, sum, totals.at("advantage_squared"), mean) / (rows - 1);
  // A variance that rounding left below zero is none; a NaN stays one, so that the step is refused as not
  // finite.
  const double deviation =
      variance < least_deviation * least_deviation ? least_deviation : std::sqrt(variance);
  return {mean, deviation};
}

}  // namespace lockstep::losses
