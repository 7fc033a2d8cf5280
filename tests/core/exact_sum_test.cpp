#include "lockstep/core/exact_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "lockstep/core/random.hpp"

namespace lockstep {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest = std::numeric_limits<double>::max();
constexpr double smallest = std::numeric_limits<double>::denorm_min();

ExactSum accumulate(const std::vector<double>& values) {
  ExactSum sum;
  for (const double value : values) sum.add(value);
  return sum;
}

double sum_of(const std::vector<double>& values) {
  return accumulate(values).value();
}

// The accumulators' words, which are unique once normalised.
std::vector<std::int64_t> words_of(ExactSum sum) {
  sum.normalise();
  return {sum.raw().begin(), sum.raw().end()};
}

// Doubles from the bits of Knuth's MMIX generator, with biased exponents lowest + (bits >> shift) % count.
std::vector<double> generated(std::uint64_t lowest, std::uint64_t count, int shift) {
  std::vector<double> values(1000);
  std::uint64_t x = 12345;
  for (double& value : values) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t exponent = (x >> shift & 0xffffffff) % count + lowest;
    value = std::bit_cast<double>((x & 0x800fffffffffffffU) | exponent << 52);
  }
  return values;
}

TEST(ExactSum, GivesKnownSums) {
  EXPECT_EQ(sum_of({}), 0.0);
  EXPECT_FALSE(std::signbit(sum_of({-0.0})));
  EXPECT_EQ(sum_of({1.0}), 1.0);
  EXPECT_EQ(sum_of({-1.5}), -1.5);
  EXPECT_EQ(sum_of({1e308, 1e308, -1e308}), 1e308);
  EXPECT_EQ(sum_of({1e16, 1.0, -1e16}), 1.0);
  EXPECT_EQ(sum_of({1e100, 1.0, -1e100, 1e-100, -1.0}), 1e-100);
  EXPECT_EQ(sum_of(std::vector<double>(10, 0.1)), 1.0);
  EXPECT_EQ(sum_of({0.1, 0.2}), 0.1 + 0.2);  // one rounding is what an addition does
  EXPECT_EQ(sum_of({largest, smallest, -largest}), smallest);
}

// Expected values: Python's math.fsum over the same doubles.
TEST(ExactSum, AgreesWithFsum) {
  EXPECT_EQ(sum_of(generated(1000, 60, 40)), -0x1.77744d77f30dfp+39);
  EXPECT_EQ(sum_of(generated(0, 20, 40)), -0x1.4e36fc55928ecp-999);
  EXPECT_EQ(sum_of(generated(27, 1992, 33)), -0x1.9465949ebb3fbp+993);
  std::vector<double> cancelling = generated(27, 1992, 33);
  const double survivor = cancelling[0];
  for (std::size_t i = 1; i < 1000; ++i) cancelling.push_back(-cancelling[i]);
  EXPECT_EQ(sum_of(cancelling), survivor);
}

TEST(ExactSum, EqualsOneAdditionForAnyTwoNumbers) {
  std::vector<double> values = generated(0, 2046, 33);
  const std::vector<double> near = generated(1000, 60, 40);
  values.insert(values.end(), near.begin(), near.end());
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    EXPECT_EQ(sum_of({values[i], values[i + 1]}), values[i] + values[i + 1]);
    EXPECT_EQ(sum_of({values[i], -values[i + 1]}), values[i] - values[i + 1]);
  }
}

TEST(ExactSum, RoundsOnceToNearestEven) {
  const double ulp = 0x1p-52;
  EXPECT_EQ(sum_of({1.0, ulp / 2}), 1.0);                         // tie, even below
  EXPECT_EQ(sum_of({1.0 + ulp, ulp / 2}), 1.0 + 2 * ulp);         // tie, even above
  EXPECT_EQ(sum_of({1.0, ulp / 2, smallest}), 1.0 + ulp);         // a hair above the tie
  EXPECT_EQ(sum_of({1.0 + ulp, ulp / 2, -smallest}), 1.0 + ulp);  // a hair below
  EXPECT_EQ(sum_of({-1.0, -ulp / 2, -smallest}), -1.0 - ulp);
  EXPECT_EQ(sum_of({2.0, -ulp / 4}), 2.0);
  EXPECT_EQ(sum_of({2.0 - ulp, ulp / 2}), 2.0);  // the carry changes the exponent
}

TEST(ExactSum, KeepsSubnormals) {
  EXPECT_EQ(sum_of({smallest}), smallest);
  EXPECT_EQ(sum_of({smallest, smallest, -smallest, smallest}), 2 * smallest);
  const double normal = std::numeric_limits<double>::min();
  EXPECT_EQ(sum_of({normal, -smallest}), normal - smallest);
  EXPECT_EQ(sum_of({normal - smallest, smallest}), normal);
  EXPECT_EQ(sum_of({-smallest}), -smallest);
}

TEST(ExactSum, OverflowsToInfinityOnlyWhenTheSumDoes) {
  EXPECT_EQ(sum_of({largest, largest}), infinity);
  EXPECT_EQ(sum_of({-largest, -largest}), -infinity);
  EXPECT_EQ(sum_of({largest, largest, largest, -largest, -largest}), largest);
  const double half_ulp = 0x1p970;
  EXPECT_EQ(sum_of({largest, half_ulp}), infinity);  // the tie goes to the even neighbour, 2^1024
  EXPECT_EQ(sum_of({largest, half_ulp, -smallest}), largest);
}

TEST(ExactSum, CountsWhatIsNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(sum_of({1.0, infinity}), infinity);
  EXPECT_EQ(sum_of({-infinity, largest}), -infinity);
  EXPECT_TRUE(std::isnan(sum_of({infinity, 1.0, -infinity})));
  EXPECT_TRUE(std::isnan(sum_of({nan, 1.0})));
  ExactSum sum = accumulate({1.0, infinity, nan, -nan});
  EXPECT_EQ(sum.raw()[ExactSum::digits], 2);
  EXPECT_EQ(sum.raw()[ExactSum::digits + 1], 1);
  EXPECT_EQ(sum.raw()[ExactSum::digits + 2], 0);
  ExactSum clean = accumulate({1.0});
  clean.merge(accumulate({-infinity}));
  EXPECT_EQ(clean.value(), -infinity);
}

// 1e-300 to 1e300, both signs: whatever the order and whoever adds what, the bits are the same.
TEST(ExactSum, DependsNeitherOnOrderNorOnPartition) {
  RandomStream stream(3, StreamId::test, 0);
  std::vector<double> values(2000);
  for (double& value : values) {
    const double magnitude = std::pow(10.0, stream.uniform(-300, 300));
    value = stream.uniform() < 0.5 ? magnitude : -magnitude;
  }
  const auto expected_words = words_of(accumulate(values));
  const double expected = sum_of(values);
  std::vector<std::int64_t> order(values.size());
  for (int trial = 0; trial < 50; ++trial) {
    stream.permutation(order);
    const std::size_t parts = 1 + stream.below(16);
    std::vector<ExactSum> partial(parts);
    for (const std::int64_t i : order) partial[stream.below(parts)].add(values[static_cast<std::size_t>(i)]);
    ExactSum total;
    for (const ExactSum& part : partial) total.merge(part);
    EXPECT_EQ(words_of(total), expected_words);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(total.value()), std::bit_cast<std::uint64_t>(expected));
  }
}

// What a collective does: add the words of normalised accumulators element by element.
TEST(ExactSum, MergesAsIntegers) {
  const std::vector<double> values = generated(27, 1992, 33);
  std::vector<std::int64_t> added(ExactSum::words);
  for (std::size_t part = 0; part < 8; ++part) {
    ExactSum sum;
    for (std::size_t i = part; i < values.size(); i += 8) sum.add(values[i]);
    sum.normalise();
    for (std::size_t i = 0; i < ExactSum::words; ++i) added[i] += sum.raw()[i];
  }
  ExactSum total;
  std::ranges::copy(added, total.raw().begin());
  total.normalise();
  EXPECT_EQ(words_of(total), words_of(accumulate(values)));
  EXPECT_EQ(total.value(), sum_of(values));
}

// 2^30 merges of the largest digits, made by doubling, stay inside a limb.
TEST(ExactSum, SurvivesABillionMerges) {
  ExactSum one = accumulate({-1.0, 0x1.fffffffffffffp0});
  one.add(-3.0);
  one.normalise();
  ExactSum many;
  for (std::size_t i = 0; i < ExactSum::words; ++i) many.raw()[i] = one.raw()[i] * (std::int64_t{1} << 30);
  many.normalise();
  EXPECT_EQ(many.value(), one.value() * 0x1p30);
}

}  // namespace
}  // namespace lockstep
