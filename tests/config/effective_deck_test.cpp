#include <gtest/gtest.h>

#include <algorithm>

#include "support.hpp"

namespace lockstep::config {
namespace {

using test::parse;
using test::plain;

TEST(EffectiveDeck, HasEverySectionAndKeyInOrder) {
  EXPECT_EQ(effective_deck(parse(plain)), R"([run]
seed = 0
rounds = 10
output = ""
initialize_from = ""

[runtime]
threads = 1
device = "auto"
collectives = "auto"
deadline_s = 600.0

[learner]
shards = 4
sharding = "optimizer"
replicas = 1
precision = "float32"
reduction = "exact"
accumulation = 1
clip_norm = 1.0
max_skips = 10
hash_every = 0

[optimizer]
name = "adamw"
learning_rate = 0.0003
schedule = "constant"
weight_decay = 0.0
beta1 = 0.9
beta2 = 0.999
epsilon = 1e-08
momentum = 0.0

[algorithm]
name = "ppo"
rollout_steps = 128
epochs = 10
minibatch_size = 256
gamma = 0.99
lambda = 0.95
clip = 0.2
clip_schedule = "constant"
value_clip = 0.0
entropy_coefficient = 0.01
value_coefficient = 1.0
normalize_advantage = false

[network]
hidden = [64, 64]
activation = "tanh"
log_std = "free"

[environment]
name = "CartPole-v1"
count = 8

[evaluation]
every = 0
episodes = 100
seed = 1000000

[checkpoint]
every = 0
keep = 3
keep_every = 0
)");
}

TEST(EffectiveDeck, HasTheKeysOfItsAlgorithm) {
  const std::string text = effective_deck(parse(plain, {"algorithm.name=dqn"}));
  EXPECT_NE(text.find(R"([algorithm]
name = "dqn"
gamma = 0.99
double_q = true
distance = "l2"
tau = 1.0
target_every = 1000
epsilon_start = 1.0
epsilon_end = 0.05
epsilon_steps = 10000

[network]
hidden = [64, 64]
activation = "tanh"

[environment]
name = "CartPole-v1"
count = 8

[replay]
capacity = 100000
batch_size = 256
initial_steps = 1000
rollout_steps = 1
updates = 1
alpha = 0.0
beta = 0.4

[evaluation]
)"),
            std::string::npos)
      << text;
  for (const char* name : {"dqn", "sac", "td3"}) {
    const Deck deck = parse(plain, {std::string("algorithm.name=") + name, "replay.updates=7"});
    EXPECT_EQ(effective_deck(parse(effective_deck(deck))), effective_deck(deck));
  }
}

// A deck in which no key has its default.
Deck unlike_defaults() {
  return parse("", {"run.seed=9223372036854775807",
                    "run.environment_steps=12345",
                    "run.output=a \"b\" 'c' \\ \n\t\x01\x7f é \xF0\x9F\x8E\xB2 {} %d #",
                    "run.initialize_from=x.h5",
                    "runtime.threads=2",
                    "runtime.device=cpu",
                    "runtime.collectives=mpi",
                    "runtime.deadline_s=0.1",
                    "learner.shards=48",
                    "learner.sharding=none",
                    "learner.precision=bfloat16",
                    "learner.reduction=fast",
                    "learner.accumulation=2",
                    "learner.clip_norm=0.30000000000000004",
                    "learner.max_skips=0",
                    "learner.replicas=2",
                    "learner.hash_every=3",
                    "optimizer.name=sgd",
                    "optimizer.learning_rate=1.2345678901234567e-37",
                    "optimizer.schedule=linear",
                    "optimizer.weight_decay=9.8765432109876543e37",
                    "optimizer.beta1=0",
                    "optimizer.beta2=0.9999999999999999",
                    "optimizer.epsilon=1e-5",
                    "optimizer.momentum=0.5",
                    "algorithm.rollout_steps=7",
                    "algorithm.epochs=3",
                    "algorithm.minibatch_size=96",
                    "algorithm.gamma=1",
                    "algorithm.lambda=0",
                    "algorithm.clip=0.1",
                    "algorithm.clip_schedule=linear",
                    "algorithm.value_clip=0.2",
                    "algorithm.entropy_coefficient=0",
                    "algorithm.value_coefficient=0.5",
                    "algorithm.normalize_advantage=true",
                    "network.hidden=[1, 1048576]",
                    "network.activation=relu",
                    "network.log_std=state",
                    "environment.name=Pendulum-v1",
                    "environment.count=96",
                    "evaluation.every=5",
                    "evaluation.episodes=1",
                    "evaluation.seed=0",
                    "checkpoint.every=1",
                    "checkpoint.keep=1",
                    "checkpoint.keep_every=10"});
}

TEST(EffectiveDeck, ParsesBackToTheSameDeckAndTheSameBytes) {
  for (const Deck& deck : {parse(plain), unlike_defaults()}) {
    const std::string text = effective_deck(deck);
    const Deck again = parse(text);
    EXPECT_TRUE(compare_decks(deck, again).empty());
    EXPECT_EQ(effective_deck(again), text);
  }
  EXPECT_EQ(parse(effective_deck(unlike_defaults())).run.output, unlike_defaults().run.output);
}

TEST(EffectiveDeck, OnlyTheLengthThatIsSetIsPrinted) {
  const std::string text = effective_deck(unlike_defaults());
  EXPECT_EQ(text.find("rounds ="), std::string::npos);
  EXPECT_NE(text.find("environment_steps = 12345\n"), std::string::npos);
}

TEST(CompareDecks, EqualDecksDoNotDiffer) {
  EXPECT_TRUE(compare_decks(parse(plain), parse(plain)).empty());
}

TEST(CompareDecks, DifferencesComeInDeckOrderWithBothValues) {
  const Deck from = parse(plain);
  const Deck to = parse("", {"environment.name=Pendulum-v1", "network.hidden=[8]", "run.environment_steps=64",
                             "optimizer.learning_rate=1", "learner.clip_norm=1"});
  const std::vector<Difference> differences = compare_decks(from, to);
  std::string text;
  for (const Difference& d : differences) text += d.key + ": " + d.from + " -> " + d.to + "\n";
  EXPECT_EQ(text,
            "run.rounds: 10 -> not set\n"
            "run.environment_steps: not set -> 64\n"
            "optimizer.learning_rate: 0.0003 -> 1.0\n"
            "network.hidden: [64, 64] -> [8]\n"
            "environment.name: \"CartPole-v1\" -> \"Pendulum-v1\"\n");
}

TEST(CompareDecks, DecksOfTwoAlgorithmsAreMatchedByName) {
  std::string text;
  const Deck to = parse(plain, {"algorithm.name=sac", "algorithm.gamma=0.5"});
  for (const Difference& d : compare_decks(parse(plain), to))
    text += d.key + ": " + d.from + " -> " + d.to + "\n";
  EXPECT_TRUE(
      text.starts_with("algorithm.name: \"ppo\" -> \"sac\"\nalgorithm.rollout_steps: 128 -> not set\n"))
      << text;
  EXPECT_NE(text.find("algorithm.gamma: 0.99 -> 0.5\n"), std::string::npos) << text;
  EXPECT_NE(text.find("algorithm.tau: not set -> 0.005\n"), std::string::npos) << text;
  EXPECT_NE(text.find("network.log_std: \"free\" -> not set\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("network.hidden"), std::string::npos) << text;
}

TEST(CompareDecks, EveryKeyIsCompared) {
  const Deck to = unlike_defaults();
  // algorithm.name alone is the same in both.
  const std::string text = effective_deck(parse(plain));
  const auto lines = std::count(text.begin(), text.end(), '=');
  EXPECT_EQ(static_cast<std::int64_t>(compare_decks(parse(plain), to).size()), lines - 1 + 1);
}

}  // namespace
}  // namespace lockstep::config
