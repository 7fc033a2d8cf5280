// The one order in which n partial results are added: binary inside the largest power-of-two factor of n,
// left to right over the odd rest (docs/design.md, section 1). Leaves, ranks and replicas all use it.
#pragma once

#include <bit>
#include <cstddef>

namespace lockstep {

// Largest power of two that divides n; n > 0.
constexpr std::size_t power_of_two_factor(std::size_t n) noexcept {
  return n & (~n + 1);
}

// Whether `ranks` owners of `leaves` leaves (ranks divides leaves) can combine them in the tree: each owns a
// whole binary subtree, or one owns all.
constexpr bool tree_splits(std::size_t leaves, std::size_t ranks) noexcept {
  return ranks == 1 || (leaves % ranks == 0 && std::has_single_bit(leaves / ranks));
}

// Adds n values in tree order. `add(into, from)` must do value[into] += value[from]; the result ends in
// value[0].
template <class Add>
constexpr void tree_combine(std::size_t n, Add&& add) {
  const std::size_t block = power_of_two_factor(n);
  for (std::size_t width = 1; width < block; width *= 2) {
    for (std::size_t i = 0; i < n; i += 2 * width) add(i, i + width);
  }
  for (std::size_t i = block; i < n; i += block) add(std::size_t{0}, i);
}

}  // namespace lockstep
