// Every key of the deck, once: name, where it is stored, what it may hold, what it means. Defaults are the
// members' own.
#pragma once

#include "lockstep/config/deck.hpp"

namespace lockstep::config {

// Bounds that keep every product of counts below 2^63, and every counter exact in a JSON number.
inline constexpr std::int64_t max_count = std::int64_t{1} << 20;
inline constexpr std::int64_t max_rows = std::int64_t{1} << 40;
inline constexpr std::int64_t max_counter = std::int64_t{1} << 53;
inline constexpr std::int64_t max_epochs = 1000;
// Floats that a step computes with stay inside float32, which holds 1.2e-38 to 3.4e38.
inline constexpr double max_float = 1e38;
inline constexpr double min_positive = 1e-37;

// What algorithm.name may be; src/algorithms has one of each.
inline const std::vector<std::string_view> algorithm_choices{"ppo", "dqn", "sac", "td3"};

inline bool replays(std::string_view algorithm) {
  return algorithm == "dqn" || algorithm == "sac" || algorithm == "td3";
}

template <class Visitor>
void RunSection::visit(Visitor& v) {
  v.field("seed", seed, IntegerRange{},
          "Seed of every initial value and random draw; the number of ranks never changes them.");
  v.field("rounds", rounds, IntegerRange{1, max_counter},
          "Length of the run in rounds: one collection and every step made from it. Give this or "
          "environment_steps.");
  v.field("environment_steps", environment_steps, IntegerRange{1, max_counter},
          "Length of the run in steps of all environments together, rounded up to whole rounds. Give this or "
          "rounds.");
  v.field(
      "output", output, AnyText{},
      "Run directory; \"\" is runs/<deck name>. The option --output is the directory itself and beats it.");
  v.field(
      "initialize_from", initialize_from, AnyText{},
      "Checkpoint of another run, or its run directory, whose model this run starts from; \"\" is none. A "
      "resume beats it.");
}

template <class Visitor>
void RuntimeSection::visit(Visitor& v) {
  v.field("threads", threads, IntegerRange{1, 1024}, "Threads of each rank.");
  v.field("device", device, Choices{{"auto", "cpu"}},
          "Where tensors live; \"auto\" is the best that this build and machine have.");
  v.field("collectives", collectives, Choices{{"auto", "mpi", "shared_memory", "nccl"}},
          "Backend of the collectives; \"auto\" is shared memory where all ranks are on one node, else MPI. "
          "\"nccl\" needs a GPU for each rank.");
  v.field(
      "deadline_s", deadline_s, FloatRange{.high = 1e6, .low_open = true},
      "Seconds after which a collective that has not ended is an error that names rank, operation and step.");
}

template <class Visitor>
void LearnerSection::visit(Visitor& v) {
  v.field("shards", shards, IntegerRange{1, max_count},
          "Logical shards of the global batch, a multiple of the ranks; results depend on it, never on the "
          "ranks.");
  v.field("sharding", sharding, Choices{{"none", "optimizer", "parameters"}},
          "What is cut over the ranks: nothing; gradients and optimizer state (\"optimizer\"); the "
          "parameters too "
          "(\"parameters\"), each unit of which is gathered while it is used.");
  v.field("replicas", replicas, IntegerRange{1, max_count},
          "Groups of ranks that each hold everything, sharded inside; gradients are summed across them. "
          "Divides the "
          "ranks.");
  v.field("precision", precision, Choices{{"float32", "bfloat16", "float16"}},
          "What autocast computes a leaf's forward in. Parameters and steps stay in float32; float16 scales "
          "the loss. "
          "Multilayer perceptrons compute in float32 all the same.");
  v.field(
      "reduction", reduction, Choices{{"exact", "fast"}},
      "How gradients are added: \"exact\" in one tree over the leaves, the same bits on every rank count; "
      "\"fast\" by the backend, repeatable at one rank count only.");
  v.field("accumulation", accumulation, IntegerRange{1, max_count, true},
          "Leaves of a shard, each a forward and backward pass of its own.");
  v.field("clip_norm", clip_norm, FloatRange{.high = max_float},
          "Largest global gradient norm of a step; longer gradients are scaled down to it. 0 is none.");
  v.field(
      "max_skips", max_skips, IntegerRange{0, max_counter},
      "Steps in a row that may be skipped for a loss or gradient that is not finite before the run stops.");
  v.field("hash_every", hash_every, IntegerRange{0, max_counter},
          "Steps after which each rank hashes its parameters and optimizer state; before the next step the "
          "hashes are compared, with the rank's own and among the ranks, and a flipped bit ends the run and "
          "names "
          "the rank. 0 is never.");
}

template <class Visitor>
void OptimizerSection::visit(Visitor& v) {
  v.field("name", name, Choices{{"adamw", "adam", "sgd"}}, "The optimizer.");
  v.field("learning_rate", learning_rate, FloatRange{.low = min_positive, .high = max_float},
          "Learning rate at the start of the run.");
  v.field("schedule", schedule, Choices{{"constant", "linear"}},
          "Course of the learning rate; \"linear\" falls to 0 at the end of the run.");
  v.field("weight_decay", weight_decay, FloatRange{.high = max_float},
          "Weight decay of a step; apart from the gradient for adamw, added to it for the others.");
  v.field("beta1", beta1, FloatRange{.high = 1, .high_open = true},
          "Decay of the mean of gradients (adamw, adam).");
  v.field("beta2", beta2, FloatRange{.high = 1, .high_open = true},
          "Decay of the mean of squared gradients (adamw, adam).");
  v.field("epsilon", epsilon, FloatRange{.low = min_positive, .high = max_float},
          "Added to the root of the mean square before the division (adamw, adam).");
  v.field("momentum", momentum, FloatRange{.high = 1, .high_open = true},
          "Decay of the gradients' running sum (sgd); 0 is none.");
}

inline constexpr std::string_view gamma_meaning = "Discount of a reward one step later.";
inline const Choices distances{{"l1", "l2", "smooth_l1"}};
inline constexpr std::string_view distance_meaning = "Distance of a value to its target in the loss.";
inline constexpr std::string_view tau_meaning =
    "Share of the way that targets go to the trained networks at a target update; 1 is a copy.";
inline constexpr std::string_view target_every_meaning = "Optimizer steps between target updates.";

template <class Visitor>
void PpoSection::visit(Visitor& v) {
  v.field("rollout_steps", rollout_steps, IntegerRange{1, max_count},
          "Steps of each environment in a round.");
  v.field("epochs", epochs, IntegerRange{1, max_epochs}, "Passes over the rollout in a round.");
  v.field(
      "minibatch_size", minibatch_size, IntegerRange{1, max_rows},
      "Rows of one step, all shards together; divides environment.count * rollout_steps and is a multiple of "
      "shards * accumulation.");
  v.field("gamma", gamma, FloatRange{.high = 1}, gamma_meaning);
  v.field("lambda", lambda, FloatRange{.high = 1},
          "Decay of generalized advantage estimation: 0 is one-step, 1 is the whole return.");
  v.field("clip", clip, FloatRange{.high = 1, .low_open = true, .high_open = true},
          "Probability ratios are clipped to [1 - clip, 1 + clip].");
  v.field("clip_schedule", clip_schedule, Choices{{"constant", "linear"}},
          "Course of clip; \"linear\" falls to 0 at the end of the run.");
  v.field(
      "value_clip", value_clip, FloatRange{.high = max_float},
      "Largest change of a value, from that of the rollout, which the value loss rewards; 0 is no clipping.");
  v.field("entropy_coefficient", entropy_coefficient, FloatRange{.high = max_float},
          "Weight of the entropy bonus in the loss.");
  v.field("value_coefficient", value_coefficient, FloatRange{.high = max_float}, "Weight of the value loss.");
  v.field("normalize_advantage", normalize_advantage, AnySwitch{},
          "Shift and scale advantages to mean 0 and deviation 1 over the rows of each step, all shards "
          "together.");
}

template <class Visitor>
void DqnSection::visit(Visitor& v) {
  v.field("gamma", gamma, FloatRange{.high = 1}, gamma_meaning);
  v.field("double_q", double_q, AnySwitch{},
          "The next action is chosen by the trained network, and only its value by the target (double DQN).");
  v.field("distance", distance, distances, distance_meaning);
  v.field("tau", tau, FloatRange{.high = 1, .low_open = true}, tau_meaning);
  v.field("target_every", target_every, IntegerRange{1, max_counter}, target_every_meaning);
  v.field("epsilon_start", epsilon_start, FloatRange{.high = 1},
          "Chance of a random action while collecting, at the first step.");
  v.field("epsilon_end", epsilon_end, FloatRange{.high = 1},
          "The same from environment step epsilon_steps on; it changes linearly in between.");
  v.field("epsilon_steps", epsilon_steps, IntegerRange{1, max_counter},
          "Environment steps, all environments together, over which that chance changes.");
}

template <class Visitor>
void SacSection::visit(Visitor& v) {
  v.field("gamma", gamma, FloatRange{.high = 1}, gamma_meaning);
  v.field("distance", distance, distances, distance_meaning);
  v.field("tau", tau, FloatRange{.high = 1, .low_open = true}, tau_meaning);
  v.field("target_every", target_every, IntegerRange{1, max_counter}, target_every_meaning);
  v.field("initial_alpha", initial_alpha, FloatRange{.low = min_positive, .high = max_float},
          "Weight of the entropy at the start; it is trained towards an entropy of minus the action's "
          "dimensions.");
}

template <class Visitor>
void Td3Section::visit(Visitor& v) {
  v.field("gamma", gamma, FloatRange{.high = 1}, gamma_meaning);
  v.field("distance", distance, distances, distance_meaning);
  v.field("tau", tau, FloatRange{.high = 1, .low_open = true}, tau_meaning);
  v.field("actor_every", actor_every, IntegerRange{1, max_counter},
          "Optimizer steps of the critic for each of the actor, and between target updates.");
  v.field("exploration_noise", exploration_noise, FloatRange{.high = max_float},
          "Deviation of the noise on actions while collecting, in the action's units.");
  v.field("target_noise", target_noise, FloatRange{.high = max_float},
          "Deviation of the noise on the target's actions, in the action's units.");
  v.field("noise_clip", noise_clip, FloatRange{.high = max_float},
          "Largest noise on the target's actions, in the action's units.");
}

template <class Visitor>
void AlgorithmSection::visit(Visitor& v) {
  v.field("name", name, Choices{algorithm_choices}, "The algorithm; which keys there are depends on it.");
  if (name == "ppo") ppo.visit(v);
  if (name == "dqn") dqn.visit(v);
  if (name == "sac") sac.visit(v);
  if (name == "td3") td3.visit(v);
}

template <class Visitor>
void NetworkSection::visit(Visitor& v, const std::string& algorithm) {
  v.field("hidden", hidden, IntegerRange{1, max_count},
          "Units of each hidden layer, for every network of the algorithm alike.");
  v.field("activation", activation, Choices{{"tanh", "relu"}}, "Activation after each hidden layer.");
  if (algorithm != "ppo") return;
  v.field("log_std", log_std, Choices{{"free", "state"}},
          "Log deviation of continuous actions: a parameter that starts at 0 (\"free\"), or an output of the "
          "actor.");
}

template <class Visitor>
void ReplaySection::visit(Visitor& v) {
  v.field("capacity", capacity, IntegerRange{1, max_rows},
          "Rows kept, all shards together; the newest replace the oldest. A multiple of learner.shards.");
  v.field("batch_size", batch_size, IntegerRange{1, max_rows},
          "Rows of one step, all shards together; a multiple of shards * accumulation.");
  v.field("initial_steps", initial_steps, IntegerRange{0, max_counter},
          "Environment steps, all environments together, with uniformly random actions at the start; no "
          "optimizer step before them.");
  v.field("rollout_steps", rollout_steps, IntegerRange{1, max_count},
          "Steps of each environment in a round.");
  v.field("updates", updates, IntegerRange{1, max_count}, "Optimizer steps of a round.");
  v.field("alpha", alpha, FloatRange{.high = 1},
          "Rows are drawn in proportion to (priority + 1e-8)^alpha; 0 is uniform replay.");
  v.field("beta", beta, FloatRange{.high = 1},
          "Exponent of the weights that undo what alpha prefers: 0 nothing, 1 all of it.");
}

// A section whose keys depend on the algorithm.
template <class Section>
struct SectionOf {
  Section& section;
  const std::string& algorithm;
  template <class Visitor>
  void visit(Visitor& v) {
    section.visit(v, algorithm);
  }
};

template <class Visitor>
void EnvironmentSection::visit(Visitor& v) {
  v.field("name", name, AnyText{.may_be_empty = false},
          "The environment, by a name that `lockstep list` prints.", Presence::required);
  v.field("count", count, IntegerRange{1, max_count},
          "Environments, all shards together; a multiple of learner.shards.");
}

template <class Visitor>
void EvaluationSection::visit(Visitor& v) {
  v.field("every", every, IntegerRange{0, max_counter}, "Rounds between evaluations; 0 is at the end only.");
  v.field("episodes", episodes, IntegerRange{1, max_count}, "Episodes of an evaluation, played greedily.");
  v.field("seed", seed, IntegerRange{}, "Seed of the evaluation's environments, apart from training's.");
}

template <class Visitor>
void CheckpointSection::visit(Visitor& v) {
  v.field("every", every, IntegerRange{0, max_counter},
          "Rounds between checkpoints, besides the one at the end; 0 is a tenth of the run.");
  v.field("keep", keep, IntegerRange{1, max_counter}, "Newest checkpoints that are kept.");
  v.field("keep_every", keep_every, IntegerRange{0, max_counter},
          "Checkpoints of rounds that this divides are kept for good; 0 is none.");
}

template <class Visitor>
void Deck::visit(Visitor& v) {
  v.section("run", "What is run, for how long, and where its files go.", run);
  v.section("runtime", "The machine: threads, device, communication.", runtime);
  v.section("learner", "How a batch is cut into shards and how a step is made from it.", learner);
  v.section("optimizer", "The optimizer step.", optimizer);
  v.section("algorithm", "The algorithm and its own keys.", algorithm);
  SectionOf<NetworkSection> network_keys{network, algorithm.name};
  v.section("network", "The networks.", network_keys);
  v.section("environment", "What is learned.", environment);
  if (replays(algorithm.name))
    v.section("replay", "What is kept of the environments' steps, and how it is used.", replay);
  v.section("evaluation", "Greedy episodes that measure the policy.", evaluation);
  v.section("checkpoint", "When the run's state is saved, and what is kept.", checkpoint);
}

}  // namespace lockstep::config
