#include "comm/slices.hpp"

#include <gtest/gtest.h>

#include "lockstep/core/error.hpp"

namespace lockstep::comm {
namespace {

TEST(Slices, AreInBytesAndMayBeEmpty) {
  const std::vector<std::size_t> cuts{0, 3, 3, 10};
  const Slices slices(cuts, 3, Dtype::float32, Kind::all_gather);
  EXPECT_EQ(slices.begin(2), 12u);
  EXPECT_EQ(slices.bytes(0), 12u);
  EXPECT_EQ(slices.bytes(1), 0u);
  EXPECT_EQ(slices.elements(2), 7u);
  EXPECT_EQ(slices.total(), 40u);
  EXPECT_EQ(slices.largest(), 28u);
}

TEST(Slices, EvenOnesDifferByOneElementAtMost) {
  const Slices slices = Slices::even(11, 4, Dtype::float64);
  EXPECT_EQ(slices.elements(0), 3u);
  EXPECT_EQ(slices.elements(2), 3u);
  EXPECT_EQ(slices.elements(3), 2u);
  EXPECT_EQ(slices.total(), 88u);
  EXPECT_EQ(Slices::even(2, 4, Dtype::float64).elements(3), 0u);
}

TEST(Slices, BadCutsAreRefused) {
  const auto make = [](std::vector<std::size_t> cuts) { Slices(cuts, 2, Dtype::float32, Kind::all_gather); };
  EXPECT_THROW(make({0, 4}), ContractError);
  EXPECT_THROW(make({1, 4, 5}), ContractError);
  EXPECT_THROW(make({0, 5, 4}), ContractError);
}

}  // namespace
}  // namespace lockstep::comm
