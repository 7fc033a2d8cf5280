#include "override.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace lockstep::config {
namespace {

using test::parse;
using test::parse_refusal;
using test::plain;

TEST(Override, BeatsTheFile) {
  EXPECT_EQ(parse(plain, {"run.rounds=25"}).run.rounds, 25);
  EXPECT_EQ(parse(plain + "[learner]\nshards = \"bad\"\n", {"learner.shards=2"}).learner.shards, 2);
}

TEST(Override, MayGiveWhatTheFileLacks) {
  const Deck deck = parse("", {"run.rounds=3", "environment.name=Pendulum-v1"});
  EXPECT_EQ(deck.run.rounds, 3);
  EXPECT_EQ(deck.environment.name, "Pendulum-v1");
}

TEST(Override, StringsAreTakenAsTheyStand) {
  for (const std::string text :
       {"a b", "\"quoted\"", "k=v", "3", "{}%s é", "line\nbreak", "C:\\dir", "", " x "}) {
    EXPECT_EQ(parse(plain, {"run.output=" + text}).run.output, text);
  }
}

TEST(Override, OthersAreTomlValues) {
  EXPECT_EQ(parse(plain, {"optimizer.learning_rate=1e-3"}).optimizer.learning_rate, 1e-3);
  EXPECT_EQ(parse(plain, {"learner.clip_norm = 2"}).learner.clip_norm, 2.0);
  EXPECT_EQ(parse(plain, {"network.hidden=[128, 32]"}).network.hidden, (std::vector<std::int64_t>{128, 32}));
  EXPECT_TRUE(parse(plain, {"algorithm.normalize_advantage=true"}).algorithm.ppo.normalize_advantage);
  EXPECT_EQ(parse(plain, {"run.seed=0xff"}).run.seed, 255);
}

TEST(Override, TheLastOfTwoWinsAndIsTold) {
  std::vector<std::string> notes;
  const Deck deck = parse(plain, {"run.rounds=1", "learner.shards=2", "run.rounds=7"}, &notes);
  EXPECT_EQ(deck.run.rounds, 7);
  EXPECT_EQ(deck.learner.shards, 2);
  EXPECT_EQ(notes, std::vector<std::string>{
                       "--set run.rounds=1: given twice, the later --set run.rounds=7 is used"});
}

TEST(Override, UnknownKeysNameTheLegalOnesAndTheNearest) {
  EXPECT_EQ(
      parse_refusal(plain, {"learner.shard=4"}),
      "--set learner.shard=4: learner.shard is no key of the deck; the keys of [learner] are shards, "
      "sharding, "
      "replicas, precision, reduction, accumulation, clip_norm, max_skips, hash_every; did you mean shards?");
  const std::string sections =
      "the sections are run, runtime, learner, optimizer, algorithm, network, environment, evaluation, "
      "checkpoint";
  EXPECT_EQ(parse_refusal(plain, {"shards=4"}),
            "--set shards=4: shards is no key of the deck; " + sections + "; did you mean learner.shards?");
  EXPECT_EQ(parse_refusal(plain, {"lerner.shards=4"}),
            "--set lerner.shards=4: lerner.shards is no key of the deck; " + sections +
                "; did you mean learner.shards?");
  EXPECT_EQ(parse_refusal(plain, {"seed=4"}), "--set seed=4: seed is no key of the deck; " + sections +
                                                  "; did you mean run.seed or evaluation.seed?");
  EXPECT_EQ(parse_refusal(plain, {"learner.shards.x=4"}).substr(0, 60),
            "--set learner.shards.x=4: learner.shards.x is no key of the ");
}

TEST(Override, BadValuesNameTypeAndRange) {
  EXPECT_EQ(parse_refusal(plain, {"learner.shards=four"}),
            "--set learner.shards=four: is no TOML value in UTF-8; it takes an integer, 1..1048576");
  EXPECT_EQ(parse_refusal(plain, {"learner.shards="}),
            "--set learner.shards=: is no TOML value in UTF-8; it takes an integer, 1..1048576");
  EXPECT_EQ(
      parse_refusal(plain, {"learner.shards=123456789012345678901"}),
      "--set learner.shards=123456789012345678901: is beyond the numbers of 64 bits; it takes an integer, "
      "1..1048576");
  EXPECT_EQ(parse_refusal(plain, {"optimizer.learning_rate=1e400"}),
            "--set optimizer.learning_rate=1e400: is beyond the numbers of 64 bits; it takes a float, "
            "[1e-37, 1e+38]");
  EXPECT_EQ(
      parse_refusal(plain, {"network.hidden=[64, 0]"}),
      "--set network.hidden=[64, 0]: has 0 as element 2; it takes a list of integers, 1 to 1024 elements, "
      "each 1..1048576");
  EXPECT_EQ(parse_refusal(plain, {"learner.shards=4\nrun.seed=5"}),
            "--set learner.shards=4\nrun.seed=5: is no TOML value in UTF-8; it takes an integer, 1..1048576");
  EXPECT_EQ(parse_refusal(plain, {"learner.shards=2.5"}),
            "--set learner.shards=2.5: is a float; it takes an integer, 1..1048576");
  EXPECT_EQ(parse_refusal(plain, {"learner.reduction=exakt"}),
            "--set learner.reduction=exakt: is not legal; it takes a string, \"exact\" | \"fast\"; did you "
            "mean exact?");
  EXPECT_EQ(parse_refusal(plain, {"run.output=\xff"}),
            "--set run.output=\xff: is no TOML value in UTF-8; it takes a string, 0..4096 bytes");
  EXPECT_NE(parse_refusal(plain, {"network.hidden=" + std::string(10'000, '[')}), "");
}

TEST(Override, MalformedOnesAreRefused) {
  for (const std::string text : {"learner.shards", "", "=4", " =4"}) {
    EXPECT_EQ(parse_refusal(plain, {text}), "--set " + text + ": must be section.key=value");
  }
}

}  // namespace
}  // namespace lockstep::config
