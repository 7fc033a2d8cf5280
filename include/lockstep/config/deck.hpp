// The deck: typed sections, each with one `visit` that gives parsing, defaults, ranges, documentation and the
// effective deck (src/config/sections.hpp has them all). A key exists only when what it sets is built.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/config/field.hpp"

namespace lockstep::config {

struct RunSection {
  std::int64_t seed = 0;
  std::optional<std::int64_t> rounds;
  std::optional<std::int64_t> environment_steps;
  std::string output;           // "": runs/<deck name>
  std::string initialize_from;  // "": none
  template <class Visitor>
  void visit(Visitor& v);
};

struct RuntimeSection {
  std::int64_t threads = 1;
  std::string device = "auto";       // "auto" | "cpu"
  std::string collectives = "auto";  // "auto" | "mpi" | "shared_memory" | "nccl"
  double deadline_s = 600;
  template <class Visitor>
  void visit(Visitor& v);
};

struct LearnerSection {
  std::int64_t shards = 4;
  std::string sharding = "optimizer";  // "none" | "optimizer" | "parameters"
  std::int64_t replicas = 1;
  std::string precision = "float32";  // "float32" | "bfloat16" | "float16"
  std::string reduction = "exact";    // "exact" | "fast"
  std::int64_t accumulation = 1;      // leaves a shard, a power of two
  double clip_norm = 1.0;             // 0: no clipping
  std::int64_t max_skips = 10;
  std::int64_t hash_every = 0;  // real steps; 0: never
  template <class Visitor>
  void visit(Visitor& v);
};

struct OptimizerSection {
  std::string name = "adamw";  // "adamw" | "adam" | "sgd"
  double learning_rate = 3e-4;
  std::string schedule = "constant";  // "constant" | "linear"
  double weight_decay = 0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double momentum = 0;  // sgd
  template <class Visitor>
  void visit(Visitor& v);
};

struct PpoSection {  // keys of [algorithm] when name = "ppo"
  std::int64_t rollout_steps = 128, epochs = 10, minibatch_size = 256;
  double gamma = 0.99, lambda = 0.95, clip = 0.2;
  std::string clip_schedule = "constant";
  double value_clip = 0;  // 0: none
  double entropy_coefficient = 0.01, value_coefficient = 1.0;
  bool normalize_advantage = false;
  template <class Visitor>
  void visit(Visitor& v);
};

struct DqnSection {  // keys of [algorithm] when name = "dqn"
  double gamma = 0.99;
  bool double_q = true;
  std::string distance = "l2";
  double tau = 1.0;
  std::int64_t target_every = 1000;
  double epsilon_start = 1.0, epsilon_end = 0.05;
  std::int64_t epsilon_steps = 10000;
  template <class Visitor>
  void visit(Visitor& v);
};

struct SacSection {  // keys of [algorithm] when name = "sac"
  double gamma = 0.99;
  std::string distance = "smooth_l1";
  double tau = 0.005;
  std::int64_t target_every = 1;
  double initial_alpha = 1.0;
  template <class Visitor>
  void visit(Visitor& v);
};

struct Td3Section {  // keys of [algorithm] when name = "td3"
  double gamma = 0.99;
  std::string distance = "smooth_l1";
  double tau = 0.005;
  std::int64_t actor_every = 2;
  double exploration_noise = 0.1, target_noise = 0.2, noise_clip = 0.5;
  template <class Visitor>
  void visit(Visitor& v);
};

struct AlgorithmSection {
  std::string name = "ppo";
  PpoSection ppo;
  DqnSection dqn;
  SacSection sac;
  Td3Section td3;
  template <class Visitor>
  void visit(Visitor& v);
};

struct NetworkSection {
  std::vector<std::int64_t> hidden{64, 64};
  std::string activation = "tanh";
  std::string log_std = "free";  // ppo
  template <class Visitor>
  void visit(Visitor& v, const std::string& algorithm);
};

struct EnvironmentSection {
  std::string name;  // required
  std::int64_t count = 8;
  template <class Visitor>
  void visit(Visitor& v);
};

struct ReplaySection {  // of the algorithms that replay: dqn, sac, td3
  std::int64_t capacity = 100000;
  std::int64_t batch_size = 256;
  std::int64_t initial_steps = 1000;
  std::int64_t rollout_steps = 1;
  std::int64_t updates = 1;
  double alpha = 0;  // 0: uniform
  double beta = 0.4;
  template <class Visitor>
  void visit(Visitor& v);
};

struct EvaluationSection {
  std::int64_t every = 0;  // rounds; 0: only at the end
  std::int64_t episodes = 100;
  std::int64_t seed = 1000000;
  template <class Visitor>
  void visit(Visitor& v);
};

struct CheckpointSection {
  std::int64_t every = 0;  // rounds; 0: a tenth of the run
  std::int64_t keep = 3, keep_every = 0;
  template <class Visitor>
  void visit(Visitor& v);
};

struct Deck {
  RunSection run;
  RuntimeSection runtime;
  LearnerSection learner;
  OptimizerSection optimizer;
  AlgorithmSection algorithm;
  NetworkSection network;
  EnvironmentSection environment;
  ReplaySection replay;
  EvaluationSection evaluation;
  CheckpointSection checkpoint;
  template <class Visitor>
  void visit(Visitor& v);
};

// A deck's bytes, as rank 0 read them, and where they came from.
struct DeckText {
  std::string name;  // file name without .toml: names the run directory
  std::string path;  // for messages
  std::string bytes;
};

// Local. InputError naming path and errno text; refuses folders, FIFOs, devices and files above 1 MiB.
DeckText read_deck(const std::string& path);

// Local and pure. Applies "section.key=value" overrides in order, the last of two wins; `notes` gets lines to
// tell the user (an override given twice). InputError "path:line: ..." naming key, the legal names and the
// nearest one.
Deck parse_deck(const DeckText& text, const std::vector<std::string>& overrides,
                std::vector<std::string>* notes = nullptr);

// Checks between the keys that every algorithm has (divisibility and so on), for `ranks` ranks and rounds of
// `steps_a_round` environment steps. Local and pure. A line a problem, each with both numbers and the nearest
// values that fit; algorithms::check_deck adds the algorithm's own and throws.
std::vector<std::string> deck_problems(const Deck& deck, std::int64_t ranks, std::int64_t steps_a_round);

// How long the run is: run.rounds, or run.environment_steps rounded up to whole rounds of `steps_a_round`
// environment steps each. For a deck without problems.
struct PlannedRounds {
  std::int64_t rounds = 0;
  std::int64_t environment_steps = 0;  // of all these rounds
  bool rounded = false;                // environment_steps is more than the deck says
};
PlannedRounds planned_rounds(const Deck& deck, std::int64_t steps_a_round);

// TOML, every key that is set, defaults included; parses back to the same deck, and the same deck gives the
// same bytes.
std::string effective_deck(const Deck& deck);

// The reference that `lockstep keys [SECTION]` prints: key, type, default, range, meaning. InputError on an
// unknown section.
std::string deck_reference(const std::string& section = "");
// docs/deck.md
std::string deck_reference_markdown();

struct Difference {
  std::string key, from, to;
};
// Keys whose effective values differ, by name: those of `from` in deck order, then those that only `to` has.
// A key that a deck does not have, or does not set, is "not set".
std::vector<Difference> compare_decks(const Deck& from, const Deck& to);

}  // namespace lockstep::config
