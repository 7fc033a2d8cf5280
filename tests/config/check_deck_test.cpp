#include <gtest/gtest.h>

#include <algorithm>

#include "support.hpp"

namespace lockstep::config {
namespace {

using test::parse;
using test::plain;
using test::refusal;

std::string check_refusal(const std::vector<std::string>& overrides, std::int64_t ranks = 1) {
  const Deck deck = parse(plain, overrides);
  return refusal([&] { check_deck(deck, ranks); });
}

std::vector<std::int64_t> ranks_accepted(const std::vector<std::string>& overrides, std::int64_t most) {
  std::vector<std::int64_t> accepted;
  for (std::int64_t ranks = 1; ranks <= most; ++ranks) {
    if (check_refusal(overrides, ranks).empty()) accepted.push_back(ranks);
  }
  return accepted;
}

// Shards s, with environments and minibatches that fit them.
std::vector<std::string> shards(int s, const std::string& reduction) {
  const std::string n = std::to_string(s);
  return {"learner.shards=" + n, "environment.count=" + n, "algorithm.minibatch_size=" + n,
          "learner.reduction=" + reduction};
}

TEST(CheckDeck, TheDefaultsFit) {
  for (const std::int64_t ranks : {1, 2, 4}) EXPECT_EQ(check_refusal({}, ranks), "");
}

TEST(CheckDeck, ExactRunsWhereTheTreeSplits) {
  using Ranks = std::vector<std::int64_t>;
  EXPECT_EQ(ranks_accepted(shards(8, "exact"), 16), (Ranks{1, 2, 4, 8}));
  EXPECT_EQ(ranks_accepted(shards(48, "exact"), 60), (Ranks{1, 3, 6, 12, 24, 48}));
  EXPECT_EQ(ranks_accepted(shards(12, "fast"), 24), (Ranks{1, 2, 3, 4, 6, 12}));
}

TEST(CheckDeck, RanksThatDoNotDivideTheShards) {
  EXPECT_EQ(check_refusal(shards(48, "exact"), 5),
            "learner.shards = 48 on 5 ranks: shards must be a multiple of the ranks; nearest rank counts "
            "that fit: 3 or "
            "6; nearest shards for 5 ranks: 45 or 50");
  EXPECT_EQ(check_refusal({}, 8),
            "learner.shards = 4 on 8 ranks: shards must be a multiple of the ranks; nearest rank counts that "
            "fit: 4; "
            "nearest shards for 8 ranks: 8");
  EXPECT_EQ(check_refusal({}, 0), "ranks = 0: a run has at least one rank");
}

TEST(CheckDeck, RanksThatTheTreeDoesNotServe) {
  EXPECT_EQ(check_refusal(shards(48, "exact"), 2),
            "learner.shards = 48 on 2 ranks: with learner.reduction = \"exact\" shards / ranks must be a "
            "power of two, "
            "or the ranks 1; it is 24. Rank counts that fit: 1, 3, 6, 12, 24, 48. learner.reduction = "
            "\"fast\" takes any "
            "divisor of the shards, with bits that depend on the ranks");
}

TEST(CheckDeck, EnvironmentsThatDoNotDivide) {
  EXPECT_EQ(check_refusal({"environment.count=10"}),
            "environment.count = 10 is no multiple of learner.shards = 4; nearest counts that fit: 8 or 12");
  EXPECT_EQ(check_refusal({"environment.count=2", "algorithm.minibatch_size=64"}),
            "environment.count = 2 is no multiple of learner.shards = 4; nearest counts that fit: 4");
}

TEST(CheckDeck, NothingIsDroppedUnannounced) {
  EXPECT_EQ(check_refusal({"algorithm.minibatch_size=300"}),
            "environment.count * algorithm.rollout_steps = 8 * 128 = 1024 is no multiple of "
            "algorithm.minibatch_size = "
            "300; nearest sizes that fit: 256 or 512");
  EXPECT_EQ(check_refusal({"algorithm.minibatch_size=2048"}),
            "environment.count * algorithm.rollout_steps = 8 * 128 = 1024 is no multiple of "
            "algorithm.minibatch_size = "
            "2048; nearest sizes that fit: 1024");
}

TEST(CheckDeck, MinibatchesSplitIntoLeaves) {
  EXPECT_EQ(check_refusal({"algorithm.minibatch_size=2"}),
            "algorithm.minibatch_size = 2 is no multiple of learner.shards * learner.accumulation = 4 * 1 = "
            "4; nearest "
            "sizes that fit: 4");
  EXPECT_EQ(check_refusal({"algorithm.minibatch_size=16", "learner.accumulation=8"}),
            "algorithm.minibatch_size = 16 is no multiple of learner.shards * learner.accumulation = 4 * 8 = "
            "32; nearest "
            "sizes that fit: 32");
  EXPECT_EQ(
      check_refusal({"algorithm.rollout_steps=10", "algorithm.minibatch_size=80", "learner.accumulation=32"}),
      "algorithm.minibatch_size = 80 is no multiple of learner.shards * learner.accumulation = 4 * 32 = 128; "
      "nearest sizes that fit: none, 80 rows a round do not split into 128 leaves");
}

TEST(CheckDeck, EverySuggestedSizeFits) {
  for (const std::string size : {"256", "512"})
    EXPECT_EQ(check_refusal({"algorithm.minibatch_size=" + size}), "");
}

TEST(CheckDeck, OneRowIsNotNormalized) {
  const std::vector<std::string> one{"learner.shards=1", "algorithm.minibatch_size=1"};
  EXPECT_EQ(check_refusal(one), "");
  EXPECT_EQ(check_refusal({one[0], one[1], "algorithm.normalize_advantage=true"}),
            "algorithm.minibatch_size = 1 with algorithm.normalize_advantage = true: one row has no "
            "deviation; take at "
            "least 2 rows, or normalize_advantage = false");
}

TEST(CheckDeck, MomentumIsOfSgd) {
  EXPECT_EQ(check_refusal({"optimizer.momentum=0.9"}),
            "optimizer.momentum = 0.9 belongs to optimizer.name = \"sgd\"; \"adamw\" has beta1 instead");
  EXPECT_EQ(check_refusal({"optimizer.momentum=0.9", "optimizer.name=sgd"}), "");
}

TEST(CheckDeck, CountersStayExact) {
  EXPECT_EQ(check_refusal({"run.rounds=8796093022208"}), "");
  EXPECT_EQ(check_refusal({"run.rounds=8796093022209"}),
            "run.rounds = 8796093022209 of environment.count * algorithm.rollout_steps = 1024 steps each are "
            "more than "
            "2^53 steps; at most 8796093022208 rounds fit");
}

TEST(CheckDeck, TheLargestCountsDoNotOverflow) {
  const std::string message =
      check_refusal({"environment.count=1048576", "algorithm.rollout_steps=1048576", "learner.shards=1048576",
                     "learner.accumulation=1048576", "algorithm.minibatch_size=1099511627776"});
  EXPECT_EQ(message, "");
}

TEST(CheckDeck, AllProblemsAreToldAtOnce) {
  const std::string message = check_refusal(
      {"environment.count=10", "algorithm.minibatch_size=7", "optimizer.momentum=0.5", "learner.shards=6"},
      4);
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 4) << message;
}

TEST(PlannedRounds, RoundsAreTakenAsTheyAre) {
  const PlannedRounds planned = planned_rounds(parse(plain));
  EXPECT_EQ(planned.rounds, 10);
  EXPECT_EQ(planned.environment_steps, 10 * 8 * 128);
  EXPECT_FALSE(planned.rounded);
}

TEST(PlannedRounds, EnvironmentStepsAreRoundedUp) {
  const auto planned = [](const std::string& steps) {
    return planned_rounds(parse("[environment]\nname = 'x'", {"run.environment_steps=" + steps}));
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
