// Sums of doubles that do not depend on order: a fixed-point accumulator over the whole range of double
// (Kulisch; Neal, "Fast exact summation using small and large superaccumulators", 2015). Norms, metrics and
// denominators are merged through it, so they are the same bits on any number of ranks.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace lockstep {

class ExactSum {
 public:
  // 32-bit digits in 64-bit limbs, then three counters: NaN, +infinity, -infinity.
  static constexpr std::size_t digits = 68;
  static constexpr std::size_t words = digits + 3;

  void add(double value) noexcept;
  void merge(const ExactSum& other) noexcept;
  // The exact sum rounded once, to nearest even. NaN when a NaN or both infinities were added.
  double value() const noexcept;

  // The accumulator as integers: an element-wise int64 sum of the words of two accumulators, both normalised,
  // is their merge. `normalise` propagates carries, so that 2^30 merges cannot overflow a limb.
  void normalise() noexcept;
  // Writing through it is followed by normalise().
  std::span<std::int64_t, words> raw() noexcept { return std::span<std::int64_t, words>(words_); }
  std::span<const std::int64_t, words> raw() const noexcept {
    return std::span<const std::int64_t, words>(words_);
  }

 private:
  std::array<std::int64_t, words> words_{};
  std::uint32_t pending_ = 0;  // adds since the last normalise
};

}  // namespace lockstep
