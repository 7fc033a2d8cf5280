#include "lockstep/core/exact_sum.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace lockstep {
namespace {

constexpr int digit_bits = 32;
constexpr std::int64_t digit_mask = 0xffffffff;
constexpr std::size_t nan_count = ExactSum::digits;
constexpr std::size_t positive_infinities = ExactSum::digits + 1;
constexpr std::size_t negative_infinities = ExactSum::digits + 2;
// Bit 0 of digit 0 weighs as much as the smallest subnormal.
constexpr int lowest_exponent = -1074;
// A limb holds |digit| < 2^32 a pending add, so this many stay below 2^62.
constexpr std::uint32_t most_pending = std::uint32_t{1} << 30;

using Digits = std::array<std::int64_t, ExactSum::digits>;

void negate(Digits& digits) noexcept {
  std::int64_t carry = 1;
  for (std::size_t i = 0; i + 1 < digits.size(); ++i) {
    const std::int64_t sum = (~digits[i] & digit_mask) + carry;
    digits[i] = sum & digit_mask;
    carry = sum >> digit_bits;
  }
  digits.back() = ~digits.back() + carry;
}

// The non-negative number rounded to 53 bits, ties to even.
double round_to_nearest(const Digits& digits) noexcept {
  int top = static_cast<int>(digits.size()) - 1;
  if (digits.back() != 0) return std::numeric_limits<double>::infinity();  // at least 2^1070
  while (top >= 0 && digits[top] == 0) --top;
  if (top < 0) return 0.0;
  // Three digits from the top hold 65 to 96 significant bits. Digits below the lowest are zero.
  unsigned __int128 window = 0;
  for (int i = top; i > top - 3; --i)
    window = window << digit_bits | (i >= 0 ? static_cast<std::uint64_t>(digits[i]) : 0);
  bool below_window = false;
  for (int i = top - 3; i >= 0; --i) below_window |= digits[i] != 0;

  const int width =
      2 * digit_bits + static_cast<int>(std::bit_width(static_cast<std::uint64_t>(digits[top])));
  const int dropped = width - 53;
  auto mantissa = static_cast<std::uint64_t>(window >> dropped);
  const unsigned __int128 rest = window & ((static_cast<unsigned __int128>(1) << dropped) - 1);
  const unsigned __int128 half = static_cast<unsigned __int128>(1) << (dropped - 1);
  const bool odd = (mantissa & 1) != 0;
  if (rest > half || (rest == half && (below_window || odd))) ++mantissa;
  // Exact also among subnormals, which lose only the zero bits below digit 0; infinity above the range.
  return std::ldexp(static_cast<double>(mantissa), (top - 2) * digit_bits + dropped + lowest_exponent);
}

}  // namespace

void ExactSum::add(double value) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto biased = static_cast<unsigned>(bits >> 52 & 0x7ff);
  std::uint64_t mantissa = bits & 0xfffffffffffff;
  const bool negative = bits >> 63 != 0;
  if (biased == 0x7ff) [[unlikely]] {
    ++words_[mantissa != 0 ? nan_count : negative ? negative_infinities : positive_infinities];
    return;
  }
  if (++pending_ > most_pending) [[unlikely]] {
    normalise();
    pending_ = 1;
  }
  // value = mantissa * 2^(position - 1074); a subnormal has no hidden bit and the position of the smallest
  // normal.
  const unsigned position = biased == 0 ? 0 : biased - 1;
  if (biased != 0) mantissa |= std::uint64_t{1} << 52;
  const unsigned shift = position % digit_bits;
  const unsigned __int128 spread = static_cast<unsigned __int128>(mantissa) << shift;
  const std::int64_t sign = negative ? -1 : 1;
  std::int64_t* digit = words_.data() + position / digit_bits;
  digit[0] += sign * (static_cast<std::int64_t>(spread) & digit_mask);
  digit[1] += sign * (static_cast<std::int64_t>(spread >> digit_bits) & digit_mask);
  digit[2] += sign * static_cast<std::int64_t>(spread >> (2 * digit_bits));
}

void ExactSum::normalise() noexcept {
  std::int64_t carry = 0;
  for (std::size_t i = 0; i + 1 < digits; ++i) {
    const std::int64_t sum = words_[i] + carry;
    words_[i] = sum & digit_mask;
    carry = sum >> digit_bits;
  }
  words_[digits - 1] += carry;  // the top digit keeps the sign
  pending_ = 0;
}

void ExactSum::merge(const ExactSum& other) noexcept {
  ExactSum addend = other;
  addend.normalise();
  normalise();
  for (std::size_t i = 0; i < words; ++i) words_[i] += addend.words_[i];
  pending_ = 1;
}

double ExactSum::value() const noexcept {
  const bool up = words_[positive_infinities] != 0;
  const bool down = words_[negative_infinities] != 0;
  if (words_[nan_count] != 0 || (up && down)) return std::numeric_limits<double>::quiet_NaN();
  if (up || down)
    return up ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  ExactSum sum = *this;
  sum.normalise();
  Digits number{};
  for (std::size_t i = 0; i < digits; ++i) number[i] = sum.words_[i];
  const bool negative = number.back() < 0;
  if (negative) negate(number);
  return negative ? -round_to_nearest(number) : round_to_nearest(number);
}

}  // namespace lockstep
