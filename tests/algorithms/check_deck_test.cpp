// A deck is checked whole: what all algorithms have, and what is the algorithm's own.
#include <gtest/gtest.h>

#include <algorithm>

#include "config/support.hpp"
#include "lockstep/algorithms/algorithm.hpp"

namespace lockstep::algorithms {
namespace {

using config::test::parse;
using config::test::plain;
using config::test::refusal;

std::string check_refusal(const std::vector<std::string>& overrides, std::int64_t ranks = 1) {
  const config::Deck deck = parse(plain, overrides);
  return refusal([&] { check_deck(deck, ranks); });
}

TEST(CheckDeck, TheDefaultsFit) {
  for (const std::int64_t ranks : {1, 2, 4}) EXPECT_EQ(check_refusal({}, ranks), "");
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

TEST(CheckDeck, TheEnvironmentMustBeKnown) {
  EXPECT_NE(check_refusal({"environment.name=CartPole-v2"}).find("CartPole-v1"), std::string::npos);
}

// The shortest deck of an algorithm on an environment that fits it.
std::string off_policy_refusal(const std::string& algorithm, std::vector<std::string> overrides,
                               std::int64_t ranks = 1) {
  const std::string environment = algorithm == "dqn" ? "CartPole-v1" : "Pendulum-v1";
  overrides.insert(overrides.begin(), {"algorithm.name=" + algorithm, "environment.name=" + environment});
  return check_refusal(overrides, ranks);
}

class OffPolicyDeck : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Algorithms, OffPolicyDeck, testing::Values("dqn", "sac", "td3"));

TEST_P(OffPolicyDeck, TheDefaultsFit) {
  for (const std::int64_t ranks : {1, 2, 4}) EXPECT_EQ(off_policy_refusal(GetParam(), {}, ranks), "");
}

TEST_P(OffPolicyDeck, BatchesSplitIntoLeaves) {
  EXPECT_EQ(off_policy_refusal(GetParam(), {"replay.batch_size=100", "learner.accumulation=8"}),
            "replay.batch_size = 100 is no multiple of learner.shards * learner.accumulation = 4 * 8 = 32; "
            "nearest sizes that fit: 96 or 128");
}

TEST_P(OffPolicyDeck, CapacitySplitsOverShardsAndHoldsAStep) {
  EXPECT_EQ(
      off_policy_refusal(GetParam(), {"replay.capacity=1001"}),
      "replay.capacity = 1001 is no multiple of learner.shards = 4; nearest capacities that fit: 1000 or "
      "1004");
  EXPECT_EQ(
      off_policy_refusal(GetParam(), {"replay.capacity=4"}),
      "replay.capacity = 4 is below environment.count = 8: one step of the environments would overwrite "
      "itself; take at least 8");
  EXPECT_EQ(off_policy_refusal(GetParam(), {"replay.capacity=8"}), "");
}

TEST(OffPolicyActions, AreThoseThatTheAlgorithmTakes) {
  EXPECT_EQ(off_policy_refusal("dqn", {"environment.name=Pendulum-v1"}),
            "algorithm.name = \"dqn\" takes discrete actions; those of Pendulum-v1 are continuous");
  for (const std::string name : {"sac", "td3"}) {
    EXPECT_EQ(
        off_policy_refusal(name, {"environment.name=CartPole-v1"}),
        "algorithm.name = \"" + name + "\" takes continuous actions; those of CartPole-v1 are discrete");
  }
}

TEST(PlannedRounds, ARoundIsTheAlgorithmsOwn) {
  EXPECT_EQ(planned_rounds(parse(plain)).environment_steps, 10 * 8 * 128);
  const auto planned =
      planned_rounds(parse("[environment]\nname = 'CartPole-v1'",
                           {"algorithm.name=dqn", "replay.rollout_steps=5", "run.environment_steps=1001"}));
  EXPECT_EQ(planned.rounds, 26);  // of 8 * 5 steps
  EXPECT_EQ(planned.environment_steps, 1040);
  EXPECT_TRUE(planned.rounded);
}

TEST(Registry, HasWhatTheDeckMayName) {
  for (const std::string& name : algorithm_names())
    EXPECT_EQ(parse(plain, {"algorithm.name=" + name}).algorithm.name, name);
  EXPECT_NE(config::deck_reference("algorithm").find("\"ppo\" | \"dqn\" | \"sac\" | \"td3\""),
            std::string::npos);
  EXPECT_EQ(algorithm_names(), (std::vector<std::string>{"ppo", "dqn", "sac", "td3"}));
}

}  // namespace
}  // namespace lockstep::algorithms
