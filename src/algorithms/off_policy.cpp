#include "off_policy.hpp"

#include <spdlog/fmt/fmt.h>

#include "deck_options.hpp"
#include "lockstep/config/fitting.hpp"
#include "lockstep/envs/environment.hpp"

namespace lockstep::algorithms {
namespace {

rollout::OffPolicyOptions source_options(const config::Deck& deck, const learner::Learner& learner) {
  const config::ReplaySection& replay = deck.replay;
  return {.environment = deck.environment.name,
          .environments = deck.environment.count,
          .shards = deck.learner.shards,
          .first_shard = learner.first_shard(),
          .shard_stride = learner.shard_stride(),
          .own_shards = learner.own_shards(),
          .rollout_steps = replay.rollout_steps,
          .updates = replay.updates,
          .batch_rows = replay.batch_size,
          .capacity = replay.capacity,
          .initial_steps = replay.initial_steps,
          .alpha = replay.alpha,
          .beta = replay.beta,
          .seed = static_cast<std::uint64_t>(deck.run.seed)};
}

class OffPolicy : public Algorithm {
 public:
  OffPolicy(const config::Deck& deck, comm::Collectives& collectives, OffPolicyParts parts)
      : linear_(deck.optimizer.schedule == "linear"),
        policy_(std::move(parts.policy)),
        learner_(parts.model, parts.loss,
                 std::make_shared<learner::OptimizationStepper>(std::move(parts.groups),
                                                                stepper_options(deck.learner)),
                 collectives, learner_options(deck)),
        source_(source_options(deck, learner_), std::move(parts.explore), collectives) {}

  learner::Learner& learner() override { return learner_; }
  rollout::BatchSource& source() override { return source_; }
  Policy& policy() override { return *policy_; }
  void schedule(const RunPosition& position) override {
    learner_.stepper().scale_learning_rates(linear_ ? position.remaining() : 1.0);
  }

 private:
  bool linear_;
  std::unique_ptr<NetworkPolicy> policy_;
  learner::Learner learner_;
  rollout::OffPolicySource source_;
};

void check_actions(const config::Deck& deck, Actions actions, std::vector<std::string>& problems) {
  const bool discrete = envs::environment_spec(deck.environment.name).action.discrete;
  if (discrete == (actions == Actions::discrete)) return;
  problems.push_back(fmt::format("algorithm.name = \"{}\" takes {} actions; those of {} are {}",
                                 deck.algorithm.name, discrete ? "continuous" : "discrete",
                                 deck.environment.name, discrete ? "discrete" : "continuous"));
}

}  // namespace

std::unique_ptr<Algorithm> make_off_policy(const config::Deck& deck, comm::Collectives& collectives,
                                           OffPolicyParts parts) {
  return std::make_unique<OffPolicy>(deck, collectives, std::move(parts));
}

learner::ParameterGroup group_of(const std::string& name, torch::nn::Module& module,
                                 const config::Deck& deck) {
  return {.parameters = learner::trainable_parameters(module),
          .options = optimizer_options(deck.optimizer),
          .name = name};
}

void check_off_policy(const config::Deck& deck, Actions actions, std::vector<std::string>& problems) {
  const config::ReplaySection& replay = deck.replay;
  const std::int64_t shards = deck.learner.shards, leaves = shards * deck.learner.accumulation;
  check_actions(deck, actions, problems);
  if (replay.batch_size % leaves != 0)
    problems.push_back(fmt::format(
        "replay.batch_size = {} is no multiple of learner.shards * learner.accumulation = {} * {} = {}; "
        "nearest sizes that fit: {}",
        replay.batch_size, shards, deck.learner.accumulation, leaves,
        config::nearest_multiples(leaves, replay.batch_size)));
  if (replay.capacity % shards != 0)
    problems.push_back(fmt::format(
        "replay.capacity = {} is no multiple of learner.shards = {}; nearest capacities that fit: {}",
        replay.capacity, shards, config::nearest_multiples(shards, replay.capacity)));
  if (replay.capacity < deck.environment.count)
    problems.push_back(fmt::format(
        "replay.capacity = {} is below environment.count = {}: one step of the environments would overwrite "
        "itself; take at least {}",
        replay.capacity, deck.environment.count, deck.environment.count));
}

std::int64_t off_policy_steps_a_round(const config::Deck& deck) {
  return deck.environment.count * deck.replay.rollout_steps;
}

// Targets are the frozen parameters of the loss.
Holdings off_policy_holdings(const config::Deck& deck, const OffPolicyParts& parts) {
  Holdings holdings{.trained = parameter_specs(parts.groups)};
  for (const learner::NamedTensor& named : learner::all_tensors(parts.loss->module()))
    if (!named.tensor.requires_grad())
      holdings.target_bytes += static_cast<std::int64_t>(named.tensor.nbytes());
  const auto& environment = envs::environment_spec(deck.environment.name);
  holdings.replay_bytes = deck.replay.capacity * rollout::replay_row_bytes(environment, deck.replay.alpha);
  return holdings;
}

}  // namespace lockstep::algorithms
