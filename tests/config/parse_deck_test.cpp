#include <gtest/gtest.h>

#include "support.hpp"

namespace lockstep::config {
namespace {

using test::parse;
using test::parse_refusal;
using test::plain;

TEST(ParseDeck, DefaultsAreTheHeadersOwn) {
  const Deck deck = parse(plain);
  EXPECT_EQ(deck.run.seed, 0);
  EXPECT_EQ(deck.run.rounds, 10);
  EXPECT_FALSE(deck.run.environment_steps);
  EXPECT_EQ(deck.learner.shards, 4);
  EXPECT_EQ(deck.learner.reduction, "exact");
  EXPECT_EQ(deck.optimizer.learning_rate, 3e-4);
  EXPECT_EQ(deck.network.hidden, (std::vector<std::int64_t>{64, 64}));
  EXPECT_EQ(deck.environment.name, "CartPole-v1");
}

TEST(ParseDeck, EveryTypeIsRead) {
  const Deck deck =
      parse(plain +
            "count = 16\n[runtime]\ndeadline_s = 2.5\n[learner]\nsharding = \"none\"\naccumulation = 8\n"
            "[algorithm]\nname = \"ppo\"\nnormalize_advantage = true\n[network]\nhidden = [32, 16, 8]\n");
  EXPECT_EQ(deck.environment.count, 16);
  EXPECT_EQ(deck.runtime.deadline_s, 2.5);
  EXPECT_EQ(deck.learner.sharding, "none");
  EXPECT_EQ(deck.learner.accumulation, 8);
  EXPECT_TRUE(deck.algorithm.ppo.normalize_advantage);
  EXPECT_EQ(deck.network.hidden, (std::vector<std::int64_t>{32, 16, 8}));
}

TEST(ParseDeck, DottedAndInlineFormsAreTheSameDeck) {
  const Deck deck = parse("run.rounds = 10\nenvironment = { name = \"CartPole-v1\" }\n");
  EXPECT_EQ(effective_deck(deck), effective_deck(parse(plain)));
}

TEST(ParseDeck, AnIntegerIsTakenForAFloatAndNotTheOtherWay) {
  EXPECT_EQ(parse(plain + "[learner]\nclip_norm = 1\n").learner.clip_norm, 1.0);
  EXPECT_EQ(parse_refusal(plain + "[learner]\nshards = 4.0\n"),
            "d.toml:6: learner.shards = 4.0 is a float; it takes an integer, 1..1048576");
}

TEST(ParseDeck, UnknownKeysNameTheLegalOnesAndTheNearest) {
  EXPECT_EQ(parse_refusal(plain + "\n[learner]\nshard = 4\n"),
            "d.toml:7: learner.shard is no key of the deck; the keys of [learner] are shards, sharding, "
            "replicas, precision, "
            "reduction, accumulation, clip_norm, max_skips, hash_every; did you mean shards?");
  EXPECT_EQ(parse_refusal(plain + "nmae = \"x\"\n"),
            "d.toml:5: environment.nmae is no key of the deck; the keys of [environment] are name, count; "
            "did you mean "
            "name?");
}

TEST(ParseDeck, AKeyInTheWrongSectionIsSentHome) {
  const std::string message = parse_refusal(plain + "learning_rate = 0.1\n");
  EXPECT_TRUE(message.starts_with("d.toml:5: environment.learning_rate is no key")) << message;
  EXPECT_TRUE(message.ends_with("; did you mean optimizer.learning_rate?")) << message;
}

TEST(ParseDeck, UnknownSectionsNameTheLegalOnesAndTheNearest) {
  const std::string sections =
      "the sections are run, runtime, learner, optimizer, algorithm, network, environment, evaluation, "
      "checkpoint";
  EXPECT_EQ(parse_refusal(plain + "[lerner]\nshards = 4\n"),
            "d.toml:5: lerner is no section of the deck; " + sections + "; did you mean learner?");
  EXPECT_EQ(parse_refusal("shards = 4\n" + plain),
            "d.toml:1: shards is no section of the deck; " + sections + "; did you mean learner.shards?");
}

TEST(ParseDeck, ASectionIsOneTable) {
  EXPECT_EQ(parse_refusal("learner = 4\n" + plain),
            "d.toml:1: learner is an integer, it must be one section [learner]");
  EXPECT_EQ(parse_refusal(plain + "[[learner]]\nshards = 4\n"),
            "d.toml:5: learner is a list, it must be one section [learner]");
}

TEST(ParseDeck, ChoicesNameTheNearest) {
  EXPECT_EQ(parse_refusal(plain + "[learner]\nsharding = \"optimiser\"\n"),
            "d.toml:6: learner.sharding = \"optimiser\" is not legal; it takes a string, \"none\" | "
            "\"optimizer\" | \"parameters\"; did you mean optimizer?");
  EXPECT_EQ(
      parse_refusal(plain + "[algorithm]\nname = \"PPO\"\n"),
      "d.toml:6: algorithm.name = \"PPO\" is not legal; it takes a string, \"ppo\" | \"dqn\" | \"sac\" | "
      "\"td3\"; did you mean ppo?");
}

struct Refused {
  const char* section;
  const char* line;
  const char* message;  // after "d.toml:6: "
};

class OutOfRange : public testing::TestWithParam<Refused> {};

TEST_P(OutOfRange, IsRefusedWithKeyTypeAndRange) {
  const Refused& refused = GetParam();
  const std::string toml = plain + "[" + refused.section + "]\n" + refused.line + "\n";
  EXPECT_EQ(parse_refusal(toml), std::string("d.toml:6: ") + refused.section + "." + refused.message);
}

INSTANTIATE_TEST_SUITE_P(
    Values, OutOfRange,
    testing::Values(
        Refused{"learner", "shards = 0", "shards = 0 is not legal; it takes an integer, 1..1048576"},
        Refused{"learner", "shards = -4", "shards = -4 is not legal; it takes an integer, 1..1048576"},
        Refused{"learner", "shards = \"four\"",
                "shards = \"four\" is a string; it takes an integer, 1..1048576"},
        Refused{"learner", "shards = true", "shards = true is a boolean; it takes an integer, 1..1048576"},
        Refused{"learner", "shards = 1979-05-27",
                "shards = 1979-05-27 is a date; it takes an integer, 1..1048576"},
        Refused{"learner", "shards = 07:32:00",
                "shards = 07:32:00 is a time; it takes an integer, 1..1048576"},
        Refused{"learner", "shards = [4]", "shards = [4] is a list; it takes an integer, 1..1048576"},
        Refused{"learner", "shards = {}", "shards = {} is a table; it takes an integer, 1..1048576"},
        Refused{"learner", "accumulation = 3",
                "accumulation = 3 is not legal; it takes an integer, 1..1048576, a power of two"},
        Refused{"learner", "clip_norm = -0.5", "clip_norm = -0.5 is not legal; it takes a float, [0, 1e+38]"},
        Refused{"learner", "clip_norm = inf", "clip_norm = inf is not legal; it takes a float, [0, 1e+38]"},
        Refused{"learner", "max_skips = -1",
                "max_skips = -1 is not legal; it takes an integer, 0..9007199254740992"},
        Refused{"runtime", "threads = 0", "threads = 0 is not legal; it takes an integer, 1..1024"},
        Refused{"runtime", "deadline_s = 0", "deadline_s = 0 is not legal; it takes a float, (0, 1000000]"},
        Refused{"runtime", "device = \"cuda\"",
                "device = \"cuda\" is not legal; it takes a string, \"auto\" | \"cpu\""},
        Refused{"optimizer", "learning_rate = 0.0",
                "learning_rate = 0.0 is not legal; it takes a float, [1e-37, 1e+38]"},
        Refused{"optimizer", "learning_rate = 1e300",
                "learning_rate = 1e+300 is not legal; it takes a float, [1e-37, 1e+38]"},
        Refused{"optimizer", "weight_decay = 1e39",
                "weight_decay = 1e+39 is not legal; it takes a float, [0, 1e+38]"},
        Refused{"learner", "clip_norm = 1e39",
                "clip_norm = 1e+39 is not legal; it takes a float, [0, 1e+38]"},
        Refused{"optimizer", "learning_rate = 1979-05-27",
                "learning_rate = 1979-05-27 is a date; it takes a float, [1e-37, 1e+38]"},
        Refused{"optimizer", "epsilon = 0", "epsilon = 0 is not legal; it takes a float, [1e-37, 1e+38]"},
        Refused{"optimizer", "epsilon = 1e-400",
                "epsilon = 0.0 is not legal; it takes a float, [1e-37, 1e+38]"},
        Refused{"optimizer", "beta1 = 1.0", "beta1 = 1.0 is not legal; it takes a float, [0, 1)"},
        Refused{"algorithm", "gamma = 1.01", "gamma = 1.01 is not legal; it takes a float, [0, 1]"},
        Refused{"algorithm", "gamma = nan", "gamma = nan is not legal; it takes a float, [0, 1]"},
        Refused{"algorithm", "lambda = -0.1", "lambda = -0.1 is not legal; it takes a float, [0, 1]"},
        Refused{"algorithm", "clip = 0", "clip = 0 is not legal; it takes a float, (0, 1)"},
        Refused{"algorithm", "epochs = 0", "epochs = 0 is not legal; it takes an integer, 1..1000"},
        Refused{"algorithm", "normalize_advantage = 1",
                "normalize_advantage = 1 is an integer; it takes a boolean, true | false"},
        Refused{
            "network", "hidden = []",
            "hidden = [] has 0 elements; it takes a list of integers, 1 to 1024 elements, each 1..1048576"},
        Refused{"network", "hidden = [64, 0]",
                "hidden = [64, 0] has 0 as element 2; it takes a list of integers, 1 to 1024 elements, each "
                "1..1048576"},
        Refused{
            "network", "hidden = [64, 1.5]",
            "hidden = [64, 1.5] has a float as element 2; it takes a list of integers, 1 to 1024 elements, "
            "each 1..1048576"},
        Refused{
            "network", "hidden = 64",
            "hidden = 64 is an integer; it takes a list of integers, 1 to 1024 elements, each 1..1048576"},
        Refused{"checkpoint", "keep = 0", "keep = 0 is not legal; it takes an integer, 1..9007199254740992"},
        Refused{"evaluation", "seed = -1",
                "seed = -1 is not legal; it takes an integer, 0..9223372036854775807"}));

TEST(ParseDeck, KeysAreThoseOfTheAlgorithm) {
  const Deck deck = parse(plain + "[algorithm]\nname = \"dqn\"\ntau = 0.5\n[replay]\ncapacity = 5000\n");
  EXPECT_EQ(deck.algorithm.dqn.tau, 0.5);
  EXPECT_EQ(deck.algorithm.sac.tau, 0.005);
  EXPECT_EQ(deck.replay.capacity, 5000);
  EXPECT_EQ(parse(plain, {"algorithm.name=td3", "algorithm.tau=0.25"}).algorithm.td3.tau, 0.25);
}

TEST(ParseDeck, AKeyOfAnotherAlgorithmSaysWhose) {
  const std::string mend = "; remove it, or change the algorithm";
  EXPECT_EQ(parse_refusal(plain + "[algorithm]\nepsilon_end = 0.1\n"),
            "d.toml:6: algorithm.epsilon_end belongs to algorithm.name = \"dqn\"" + mend);
  EXPECT_EQ(parse_refusal(plain, {"algorithm.name=sac", "algorithm.clip=0.1"}),
            "--set algorithm.clip=0.1: belongs to algorithm.name = \"ppo\"" + mend);
  EXPECT_EQ(parse_refusal(plain + "[algorithm]\nname = \"td3\"\n[network]\nlog_std = \"free\"\n"),
            "d.toml:8: network.log_std belongs to algorithm.name = \"ppo\"" + mend);
  const std::string owners =
      "algorithm.name = \"dqn\" or algorithm.name = \"sac\" or algorithm.name = \"td3\"" + mend;
  EXPECT_EQ(parse_refusal(plain + "[replay]\ncapacity = 10\n"), "d.toml:5: [replay] belongs to " + owners);
  EXPECT_EQ(parse_refusal(plain, {"replay.beta=1"}), "--set replay.beta=1: belongs to " + owners);
}

TEST(ParseDeck, TheWholeSeedRangeWorks) {
  EXPECT_EQ(parse("run = {rounds = 1, seed = 9223372036854775807}\nenvironment.name = 'x'").run.seed,
            9223372036854775807);
}

TEST(ParseDeck, TheEnvironmentIsRequired) {
  EXPECT_EQ(parse_refusal("[run]\nrounds = 1\n"),
            "d.toml: environment.name is missing; it takes a string, 1..4096 bytes");
  EXPECT_EQ(parse_refusal("[run]\nrounds = 1\n[environment]\nname = \"\"\n"),
            "d.toml:4: environment.name = \"\" is not legal; it takes a string, 1..4096 bytes");
}

TEST(ParseDeck, TheLengthIsGivenOnce) {
  EXPECT_EQ(parse_refusal("[environment]\nname = \"x\"\n"),
            "d.toml: run.rounds or run.environment_steps is missing; give one");
  EXPECT_EQ(parse_refusal("[run]\nrounds = 1\nenvironment_steps = 9\n[environment]\nname = \"x\"\n"),
            "d.toml:2: run.rounds = 1 and d.toml:3: run.environment_steps = 9: both are given, give one");
  EXPECT_EQ(parse_refusal(plain, {"run.environment_steps=9"}),
            "d.toml:2: run.rounds = 10 and --set run.environment_steps=9: both are given, give one");
  EXPECT_EQ(parse("[environment]\nname = \"x\"\n[run]\nenvironment_steps = 9\n").run.environment_steps, 9);
}

TEST(ParseDeck, AllProblemsAreToldByLine) {
  EXPECT_EQ(parse_refusal("[zoo]\n[run]\nrounds = 0\nsede = 1\n", {"learner.shards=0"}),
            "d.toml:1: zoo is no section of the deck; the sections are run, runtime, learner, optimizer, "
            "algorithm, "
            "network, environment, evaluation, checkpoint\n"
            "d.toml:3: run.rounds = 0 is not legal; it takes an integer, 1..9007199254740992\n"
            "d.toml:4: run.sede is no key of the deck; the keys of [run] are seed, rounds, "
            "environment_steps, output, "
            "initialize_from; did you mean seed?\n"
            "--set learner.shards=0: is not legal; it takes an integer, 1..1048576\n"
            "d.toml: environment.name is missing; it takes a string, 1..4096 bytes");
}

}  // namespace
}  // namespace lockstep::config
