#include "comm/combine.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "lockstep/core/error.hpp"
#include "lockstep/core/random.hpp"
#include "lockstep/core/reduction_tree.hpp"

namespace lockstep::comm {
namespace {

template <class T>
std::vector<std::vector<T>> random_inputs(std::size_t inputs, std::size_t count) {
  std::vector<std::vector<T>> values(inputs, std::vector<T>(count));
  for (std::size_t i = 0; i < inputs; ++i) {
    RandomStream stream(7, StreamId::test, static_cast<std::uint32_t>(i));
    // Wide exponents: another order of addition gives other bits.
    for (T& value : values[i]) value = static_cast<T>(stream.normal() * std::exp2(stream.uniform(-20, 20)));
  }
  return values;
}

template <class T>
std::vector<T> expected(std::vector<std::vector<T>> values) {
  const std::size_t count = values.front().size();
  for (std::size_t k = 0; k < count; ++k) {
    tree_combine(values.size(),
                 [&](std::size_t into, std::size_t from) { values[into][k] += values[from][k]; });
  }
  return values.front();
}

template <class T>
std::vector<const std::byte*> pointers(const std::vector<std::vector<T>>& values) {
  std::vector<const std::byte*> raw;
  for (const auto& value : values) raw.push_back(reinterpret_cast<const std::byte*>(value.data()));
  return raw;
}

template <class T>
void check_sum(Dtype dtype) {
  for (const std::size_t inputs : {1, 2, 3, 4, 5, 6, 8, 12, 24, 48}) {
    for (const std::size_t count : {1, 7, 64, 5003}) {
      const auto values = random_inputs<T>(inputs, count);
      std::vector<T> out(count);
      combine(pointers(values), reinterpret_cast<std::byte*>(out.data()), count, dtype, ReduceOp::sum);
      ASSERT_EQ(out, expected(values)) << inputs << " inputs of " << count;
    }
  }
}

TEST(Combine, AddsInTreeOrder) {
  check_sum<float>(Dtype::float32);
  check_sum<double>(Dtype::float64);
  check_sum<std::int64_t>(Dtype::int64);
}

TEST(Combine, MayWriteOverAnyInput) {
  for (const std::size_t inputs : {1, 2, 3, 4, 6, 8}) {
    for (std::size_t target = 0; target < inputs; ++target) {
      auto values = random_inputs<float>(inputs, 10007);
      const auto right = expected(values);
      combine(pointers(values), reinterpret_cast<std::byte*>(values[target].data()), 10007, Dtype::float32,
              ReduceOp::sum);
      ASSERT_EQ(values[target], right) << "input " << target << " of " << inputs;
    }
  }
}

TEST(Combine, TakesExtremes) {
  const std::vector<std::vector<std::int64_t>> values{{1, -5}, {9, 0}, {-2, 4}};
  std::vector<std::int64_t> out(2);
  auto* raw = reinterpret_cast<std::byte*>(out.data());
  combine(pointers(values), raw, 2, Dtype::int64, ReduceOp::max);
  EXPECT_EQ(out, (std::vector<std::int64_t>{9, 4}));
  combine(pointers(values), raw, 2, Dtype::int64, ReduceOp::min);
  EXPECT_EQ(out, (std::vector<std::int64_t>{-2, -5}));
}

TEST(Combine, PassesNonFiniteOn) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<float>> values{{infinity, infinity, 1}, {1, -infinity, std::nanf("")}};
  std::vector<float> out(3);
  combine(pointers(values), reinterpret_cast<std::byte*>(out.data()), 3, Dtype::float32, ReduceOp::sum);
  EXPECT_EQ(out[0], infinity);
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_TRUE(std::isnan(out[2]));
}

TEST(Combine, RefusesOtherTypes) {
  std::byte bytes[2]{};
  const std::vector<const std::byte*> inputs{bytes, bytes};
  EXPECT_THROW(combine(inputs, bytes, 1, Dtype::bfloat16, ReduceOp::sum), ContractError);
}

}  // namespace
}  // namespace lockstep::comm
