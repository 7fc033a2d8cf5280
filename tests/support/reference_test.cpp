#include "support/reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep::test {
namespace {

TEST(Reference, ListsGroupsAndReadsEveryKind) {
  const ReferenceFile file("torchrl_losses.h5");
  const auto groups = file.groups();
  EXPECT_NE(std::find(groups.begin(), groups.end(), "value"), groups.end());
  const auto reward = file.doubles("value/r");
  ASSERT_EQ(reward.shape.size(), 3u);
  EXPECT_EQ(static_cast<std::int64_t>(reward.values.size()),
            reward.shape[0] * reward.shape[1] * reward.shape[2]);
  const auto terminated = file.booleans("value/term");
  EXPECT_EQ(terminated.shape, reward.shape);
  EXPECT_NE(std::count(terminated.values.begin(), terminated.values.end(), false), 0);
  const auto action = file.integers("dqn/act");
  EXPECT_TRUE(
      std::all_of(action.values.begin(), action.values.end(), [](auto a) { return a >= 0 && a < 3; }));
  EXPECT_TRUE(file.doubles("dqn/loss").shape.empty());
  EXPECT_GT(file.scalar("dqn/loss"), 0.0);
}

TEST(Reference, ReadsAttributes) {
  const ReferenceFile file("torchrl_losses.h5");
  EXPECT_DOUBLE_EQ(file.number("dqn", "gamma"), 0.99);
  EXPECT_EQ(file.number("dqn_double", "double"), 1.0);
  EXPECT_EQ(file.text("dqn", "loss"), "l2");
  EXPECT_EQ(file.attributes("dqn"), (std::vector<std::string>{"double", "gamma", "loss"}));
}

TEST(Reference, NamesWhatIsMissing) {
  EXPECT_THROW(ReferenceFile("no_such_file.h5"), std::runtime_error);
  const ReferenceFile file("torchrl_losses.h5");
  EXPECT_FALSE(file.contains("dqn/nothing/here"));
  EXPECT_TRUE(file.contains("dqn/act"));
  EXPECT_THROW(file.doubles("dqn/nothing"), std::runtime_error);
  EXPECT_THROW(file.booleans("dqn/act"), std::runtime_error);
  EXPECT_THROW(file.number("dqn", "nothing"), std::runtime_error);
}

}  // namespace
}  // namespace lockstep::test
