#include "lockstep/core/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace lockstep {
namespace {

using Block = std::array<std::uint32_t, 4>;

// The known answers that Random123 publishes (kat_vectors, "philox4x32 10").
TEST(Philox, MatchesThePublishedVectors) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// The layout is part of what a checkpoint means: counter {draw low, draw high, shard, stream}, key {seed low,
// high}.
TEST(RandomStream, LaysOutCounterAndKeyAsDocumented) {
  const std::uint64_t seed = 0x0123456789abcdef;
  const std::uint64_t draw = 0xfedcba9876543210;
  const Block block = philox({0x76543210, 0xfedcba98, 42, 3}, {0x89abcdef, 0x01234567});
  const std::uint64_t bits = static_cast<std::uint64_t>(block[1]) << 32 | block[0];
  EXPECT_EQ(RandomStream(seed, StreamId::action, 42, draw).uniform(),
            std::ldexp(static_cast<double>(bits >> 11), -53));
}

TEST(RandomStream, RestartsAtAnyDraw) {
  RandomStream stream(7, StreamId::test, 3);
  std::vector<double> values(100);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? stream.uniform() : stream.normal();
  EXPECT_EQ(stream.draw(), 100U);
  RandomStream again(7, StreamId::test, 3, 51);
  EXPECT_EQ(again.normal(), values[51]);
  again.set_draw(10);
  EXPECT_EQ(again.uniform(), values[10]);
  EXPECT_EQ(again.draw(), 11U);
}

TEST(RandomStream, EveryCallConsumesTheStatedDraws) {
  RandomStream stream(1, StreamId::test, 0);
  stream.uniform(-1, 1);
  stream.below(1);
  stream.normal();
  EXPECT_EQ(stream.draw(), 3U);
  std::vector<double> normals(5);
  stream.fill_normal(normals);
  EXPECT_EQ(stream.draw(), 8U);
  std::vector<std::int64_t> order(9);
  stream.permutation(order);
  EXPECT_EQ(stream.draw(), 17U);
  stream.permutation({});
  EXPECT_EQ(stream.draw(), 17U);
}

TEST(RandomStream, SeedStreamAndShardEachGiveOtherNumbers) {
  const double value = RandomStream(1, StreamId::action, 2).uniform();
  EXPECT_NE(
      value,
      RandomStream(1 + (std::uint64_t{1} << 32), StreamId::action, 2).uniform());  // the high half counts
  EXPECT_NE(value, RandomStream(1, StreamId::minibatch, 2).uniform());
  EXPECT_NE(value, RandomStream(1, StreamId::action, 3).uniform());
  EXPECT_NE(value, RandomStream(1, StreamId::action, 2, std::uint64_t{1} << 32).uniform());
}

TEST(RandomStream, NormalsHaveTheMomentsOfTheNormalDistribution) {
  constexpr std::size_t n = 400000;
  std::vector<double> values(n);
  RandomStream(123, StreamId::test, 0).fill_normal(values);
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0, within_one = 0;
  for (const double x : values) {
    ASSERT_TRUE(std::isfinite(x));
    m1 += x / n;
    m2 += x * x / n;
    m3 += x * x * x / n;
    m4 += x * x * x * x / n;
    within_one += std::abs(x) < 1 ? 1.0 / n : 0;
  }
  // Five standard errors of each moment of n normals.
  const double error = 5 / std::sqrt(static_cast<double>(n));
  EXPECT_NEAR(m1, 0, error);
  EXPECT_NEAR(m2, 1, error * std::sqrt(2.0));
  EXPECT_NEAR(m3, 0, error * std::sqrt(15.0));
  EXPECT_NEAR(m4, 3, error * std::sqrt(96.0));
  EXPECT_NEAR(within_one, 0.682689492137, error * 0.5);
}

TEST(RandomStream, UniformsStayBelowOneAndFillTheInterval) {
  RandomStream stream(5, StreamId::test, 0);
  std::array<int, 10> bins{};
  for (int i = 0; i < 100000; ++i) {
    const double x = stream.uniform();
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    ++bins[static_cast<std::size_t>(x * 10)];
  }
  double chi_squared = 0;
  for (const int count : bins) chi_squared += (count - 10000.0) * (count - 10000.0) / 10000.0;
  EXPECT_LT(chi_squared, 27.9);  // 9 degrees of freedom, one in a thousand
}

TEST(RandomStream, BelowCoversExactlyItsRange) {
  RandomStream stream(9, StreamId::test, 0);
  std::array<int, 7> bins{};
  for (int i = 0; i < 70000; ++i) ++bins.at(stream.below(7));
  for (const int count : bins) EXPECT_NEAR(count, 10000, 500);
  EXPECT_EQ(stream.below(1), 0U);
  bool high = false;
  for (int i = 0; i < 100; ++i) high |= stream.below(~std::uint64_t{0}) > (std::uint64_t{1} << 63);
  EXPECT_TRUE(high);  // all 64 bits are used
}

TEST(RandomStream, PermutationsArePermutationsAndEquallyLikely) {
  RandomStream stream(11, StreamId::minibatch, 0);
  std::vector<std::int64_t> order(1000);
  stream.permutation(order);
  std::vector<std::int64_t> sorted = order;
  std::ranges::sort(sorted);
  std::vector<std::int64_t> identity(1000);
  std::iota(identity.begin(), identity.end(), 0);
  EXPECT_EQ(sorted, identity);
  EXPECT_NE(order, identity);

  std::array<int, 27> seen{};
  std::array<std::int64_t, 3> three{};
  for (int i = 0; i < 60000; ++i) {
    stream.permutation(three);
    ++seen[static_cast<std::size_t>(9 * three[0] + 3 * three[1] + three[2])];
  }
  EXPECT_EQ(std::ranges::count_if(seen, [](int count) { return count > 0; }), 6);
  for (const int count : seen) {
    if (count > 0) {
      EXPECT_NEAR(count, 10000, 500);
    }
  }
}

}  // namespace
}  // namespace lockstep
