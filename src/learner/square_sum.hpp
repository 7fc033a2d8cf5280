// Sum of squares of one block, in float64, in an order that depends on nothing but the block.
#pragma once

#include <array>
#include <cstddef>

namespace lockstep::learner {

template <class Element>
double square_sum(const Element* values, std::size_t count) noexcept {
  // Eight running sums: independent chains that the compiler turns into vector code without reordering
  // anything.
  std::array<double, 8> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= count; i += sums.size())
    for (std::size_t lane = 0; lane < sums.size(); ++lane) {
      const double value = static_cast<double>(values[i + lane]);
      sums[lane] += value * value;
    }
  for (; i < count; ++i) {
    const double value = static_cast<double>(values[i]);
    sums[i % sums.size()] += value * value;
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace lockstep::learner
