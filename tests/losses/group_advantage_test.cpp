#include "lockstep/losses/group_advantage.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lockstep/core/error.hpp"

namespace lockstep::losses {
namespace {

constexpr double failed = std::numeric_limits<double>::quiet_NaN();

at::Tensor rewards(std::initializer_list<double> values) {
  return at::tensor(std::vector<double>(values), at::kDouble);
}

void expect_advantages(const GroupAdvantages& found, std::initializer_list<double> expected) {
  EXPECT_TRUE(at::allclose(found.advantage, rewards(expected), 1e-14, 1e-14)) << found.advantage;
}

TEST(GroupAdvantages, AreRelativeToTheGroup) {
  const at::Tensor reward = rewards({1, 0, 0, 1, 3, 5, 7, 9});
  // Means 0.5 and 6, sample deviations sqrt(1/3) and sqrt(20/3).
  const double a = 0.5 / std::sqrt(1.0 / 3), b = std::sqrt(20.0 / 3);
  expect_advantages(group_advantages(reward, 4, {}), {a, -a, -a, a, -3 / b, -1 / b, 1 / b, 3 / b});
  expect_advantages(group_advantages(reward, 4, {.divide_by_deviation = false}),
                    {0.5, -0.5, -0.5, 0.5, -3, -1, 1, 3});
}

TEST(GroupAdvantages, EqualRewardsAreZeroAndReported) {
  // 0.1 three times has a mean that is not 0.1 in floating point.
  const GroupAdvantages found = group_advantages(rewards({0.1, 0.1, 0.1, 0, 1, 0}), 3, {});
  EXPECT_EQ(found.advantage[0].item<double>(), 0.0);
  EXPECT_EQ(found.advantage[2].item<double>(), 0.0);
  EXPECT_TRUE(found.equal[0].item<bool>());
  EXPECT_FALSE(found.equal[1].item<bool>());
  EXPECT_EQ(found.equal_fraction, 0.5);
  EXPECT_EQ(group_advantages(rewards({2, 2, 3, 3, 4, 4}), 2, {}).equal_fraction, 1.0);
}

TEST(GroupAdvantages, AFailedGradeHasNoPartInItsGroup) {
  const GroupAdvantages found =
      group_advantages(rewards({1, failed, 3, failed, failed, 2}), 3, {.divide_by_deviation = false});
  expect_advantages(found, {-1, 0, 1, 0, 0, 0});
  EXPECT_FALSE(found.equal[0].item<bool>());
  EXPECT_TRUE(found.equal[1].item<bool>()) << "one grade is no group";
  const at::Tensor kept = at::tensor({1, 0, 1, 0, 0, 0}).to(at::kBool);
  EXPECT_TRUE(at::equal(found.kept, kept)) << found.kept;
}

TEST(GroupAdvantages, TinyDeviationsDoNotExplode) {
  const GroupAdvantages found = group_advantages(rewards({0, 1e-9}), 2, {.epsilon = 1e-3});
  expect_advantages(found, {-5e-7, 5e-7});
}

TEST(GroupAdvantages, KeepTheDtypeAndRefuseWhatIsNoGroups) {
  EXPECT_EQ(group_advantages(at::tensor({0.0F, 1.0F}), 2, {}).advantage.scalar_type(), at::kFloat);
  EXPECT_THROW(group_advantages(rewards({1, 2, 3}), 2, {}), ContractError);
  EXPECT_THROW(group_advantages(rewards({1, 2}), 1, {}), ContractError);
  EXPECT_THROW(group_advantages(at::ones({2, 2}), 2, {}), ContractError);
  EXPECT_THROW(group_advantages(at::ones({2}, at::kLong), 2, {}), ContractError);
}

}  // namespace
}  // namespace lockstep::losses
