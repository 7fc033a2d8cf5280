#include <gtest/gtest.h>

#include "lockstep/algorithms/algorithm.hpp"

namespace lockstep::algorithms {
namespace {

TEST(RunPosition, FallsLinearlyAndKeepsItsLastValueBeyondTheHorizon) {
  EXPECT_EQ((RunPosition{.round = 0, .horizon = 4}.remaining()), 1.0);
  EXPECT_EQ((RunPosition{.round = 1, .horizon = 4}.remaining()), 0.75);
  EXPECT_EQ((RunPosition{.round = 3, .horizon = 4}.remaining()), 0.25);
  EXPECT_EQ((RunPosition{.round = 4, .horizon = 4}.remaining()), 0.25);
  EXPECT_EQ((RunPosition{.round = 400, .horizon = 4}.remaining()), 0.25);
  EXPECT_EQ((RunPosition{.round = 0, .horizon = 1}.remaining()), 1.0);
}

}  // namespace
}  // namespace lockstep::algorithms
