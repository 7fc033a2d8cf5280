#include <gtest/gtest.h>

#include <algorithm>

#include "support.hpp"

namespace lockstep::config {
namespace {

using test::parse;
using test::plain;

constexpr std::int64_t steps_a_round = 1024;

// All problems, a line each; "" where there are none.
std::string problems(const std::vector<std::string>& overrides, std::int64_t ranks = 1) {
  std::string text;
  for (const std::string& line : deck_problems(parse(plain, overrides), ranks, steps_a_round))
    text += (text.empty() ? "" : "\n") + line;
  return text;
}

std::vector<std::int64_t> ranks_accepted(const std::vector<std::string>& overrides, std::int64_t most) {
  std::vector<std::int64_t> accepted;
  for (std::int64_t ranks = 1; ranks <= most; ++ranks) {
    if (problems(overrides, ranks).empty()) accepted.push_back(ranks);
  }
  return accepted;
}

// Shards s, with environments that fit them.
std::vector<std::string> shards(int s, const std::string& reduction) {
  const std::string n = std::to_string(s);
  return {"learner.shards=" + n, "environment.count=" + n, "learner.reduction=" + reduction};
}

TEST(DeckProblems, TheDefaultsFit) {
  for (const std::int64_t ranks : {1, 2, 4}) EXPECT_EQ(problems({}, ranks), "");
}

TEST(DeckProblems, ExactRunsWhereTheTreeSplits) {
  using Ranks = std::vector<std::int64_t>;
  EXPECT_EQ(ranks_accepted(shards(8, "exact"), 16), (Ranks{1, 2, 4, 8}));
  EXPECT_EQ(ranks_accepted(shards(48, "exact"), 60), (Ranks{1, 3, 6, 12, 24, 48}));
  EXPECT_EQ(ranks_accepted(shards(12, "fast"), 24), (Ranks{1, 2, 3, 4, 6, 12}));
}

TEST(DeckProblems, RanksThatDoNotDivideTheShards) {
  EXPECT_EQ(problems(shards(48, "exact"), 5),
            "learner.shards = 48 on 5 ranks: shards must be a multiple of the ranks; nearest rank counts "
            "that fit: 3 or "
            "6; nearest shards for 5 ranks: 45 or 50");
  EXPECT_EQ(problems({}, 8),
            "learner.shards = 4 on 8 ranks: shards must be a multiple of the ranks; nearest rank counts that "
            "fit: 4; "
            "nearest shards for 8 ranks: 8");
  EXPECT_EQ(problems({}, 0), "ranks = 0: a run has at least one rank");
}

TEST(DeckProblems, RanksThatTheTreeDoesNotServe) {
  EXPECT_EQ(problems(shards(48, "exact"), 2),
            "learner.shards = 48 on 2 ranks: with learner.reduction = \"exact\" shards / ranks must be a "
            "power of two, "
            "or the ranks 1; it is 24. Rank counts that fit: 1, 3, 6, 12, 24, 48. learner.reduction = "
            "\"fast\" takes any "
            "divisor of the shards, with bits that depend on the ranks");
}

TEST(DeckProblems, EnvironmentsThatDoNotDivide) {
  EXPECT_EQ(problems({"environment.count=10"}),
            "environment.count = 10 is no multiple of learner.shards = 4; nearest counts that fit: 8 or 12");
  EXPECT_EQ(problems({"environment.count=2"}),
            "environment.count = 2 is no multiple of learner.shards = 4; nearest counts that fit: 4");
}

TEST(DeckProblems, MomentumIsOfSgd) {
  EXPECT_EQ(problems({"optimizer.momentum=0.9"}),
            "optimizer.momentum = 0.9 belongs to optimizer.name = \"sgd\"; \"adamw\" has beta1 instead");
  EXPECT_EQ(problems({"optimizer.momentum=0.9", "optimizer.name=sgd"}), "");
}

TEST(DeckProblems, CountersStayExact) {
  EXPECT_EQ(problems({"run.rounds=8796093022208"}), "");
  EXPECT_EQ(problems({"run.rounds=8796093022209"}),
            "run.rounds = 8796093022209 of 1024 environment steps each are more than 2^53 steps; at most "
            "8796093022208 rounds fit");
}

TEST(DeckProblems, AllAreToldAtOnce) {
  const std::string text =
      problems({"environment.count=10", "optimizer.momentum=0.5", "learner.shards=6"}, 4);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST(PlannedRounds, RoundsAreTakenAsTheyAre) {
  const PlannedRounds planned = planned_rounds(parse(plain), steps_a_round);
  EXPECT_EQ(planned.rounds, 10);
  EXPECT_EQ(planned.environment_steps, 10 * 8 * 128);
  EXPECT_FALSE(planned.rounded);
}

TEST(PlannedRounds, EnvironmentStepsAreRoundedUp) {
  const auto planned = [](const std::string& steps) {
    return planned_rounds(parse("[environment]\nname = 'x'", {"run.environment_steps=" + steps}),
                          steps_a_round);
  };
  EXPECT_EQ(planned("1024").rounds, 1);
  EXPECT_FALSE(planned("1024").rounded);
  EXPECT_EQ(planned("1025").rounds, 2);
  EXPECT_TRUE(planned("1025").rounded);
  EXPECT_EQ(planned("1025").environment_steps, 2048);
  EXPECT_EQ(planned("1").rounds, 1);
  EXPECT_EQ(planned("9007199254740992").rounds, 8796093022208);
}

}  // namespace
}  // namespace lockstep::config
