#include "lockstep/core/random.hpp"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace lockstep {
namespace {

std::uint64_t join(std::uint32_t low, std::uint32_t high) noexcept {
  return static_cast<std::uint64_t>(high) << 32 | low;
}

std::uint32_t low_half(std::uint64_t value) noexcept {
  return static_cast<std::uint32_t>(value);
}

std::uint32_t high_half(std::uint64_t value) noexcept {
  return static_cast<std::uint32_t>(value >> 32);
}

// The 53 highest bits as a multiple of 2^-53 in [0, 1).
double unit_interval(std::uint64_t bits) noexcept {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace

// Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3; the
// constants are those of its reference implementation, Random123.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) noexcept {
  constexpr std::uint64_t multiplier_0 = 0xD2511F53;
  constexpr std::uint64_t multiplier_1 = 0xCD9E8D57;
  constexpr std::uint32_t weyl_0 = 0x9E3779B9;  // golden ratio
  constexpr std::uint32_t weyl_1 = 0xBB67AE85;  // sqrt(3) - 1
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product_0 = multiplier_0 * counter[0];
    const std::uint64_t product_1 = multiplier_1 * counter[2];
    counter = {high_half(product_1) ^ counter[1] ^ key[0], low_half(product_1),
               high_half(product_0) ^ counter[3] ^ key[1], low_half(product_0)};
    key[0] += weyl_0;
    key[1] += weyl_1;
  }
  return counter;
}

RandomStream::RandomStream(std::uint64_t seed, StreamId stream, std::uint32_t shard,
                           std::uint64_t draw) noexcept
    : seed_(seed), stream_(static_cast<std::uint32_t>(stream)), shard_(shard), draw_(draw) {}

std::array<std::uint32_t, 4> RandomStream::next() noexcept {
  const std::uint64_t draw = draw_++;
  return philox({low_half(draw), high_half(draw), shard_, stream_}, {low_half(seed_), high_half(seed_)});
}

double RandomStream::uniform() noexcept {
  const auto block = next();
  return unit_interval(join(block[0], block[1]));
}

double RandomStream::uniform(double low, double high) noexcept {
  return low + (high - low) * uniform();
}

// Box and Muller, 1958: one of the pair, so that a draw is a number and a stream's state stays its draw.
double RandomStream::normal() noexcept {
  const auto block = next();
  const double radius_draw =
      1.0 - unit_interval(join(block[0], block[1]));  // (0, 1]: the logarithm is finite
  const double angle_draw = unit_interval(join(block[2], block[3]));
  return std::sqrt(-2.0 * std::log(radius_draw)) * std::cos(2.0 * std::numbers::pi * angle_draw);
}

// Multiply-high: every value within 1 / 2^64 of its probability, and always one draw (no rejection).
std::uint64_t RandomStream::below(std::uint64_t bound) noexcept {
  const auto block = next();
  const auto product = static_cast<unsigned __int128>(join(block[0], block[1])) * bound;
  return static_cast<std::uint64_t>(product >> 64);
}

void RandomStream::fill_normal(std::span<double> out) noexcept {
  for (double& value : out) value = normal();
}

void RandomStream::permutation(std::span<std::int64_t> out) noexcept {
  std::iota(out.begin(), out.end(), std::int64_t{0});
  // Down to 0 although the last swap changes nothing: as many draws as elements.
  for (std::size_t i = out.size(); i-- > 0;) std::swap(out[i], out[below(i + 1)]);
}

}  // namespace lockstep
