// PPO: on-policy rollouts, clipped objective, an actor and a critic in one parameter group.
#include "lockstep/losses/ppo.hpp"

#include <spdlog/fmt/fmt.h>

#include <optional>

#include "deck_options.hpp"
#include "lockstep/config/fitting.hpp"
#include "lockstep/envs/environment.hpp"
#include "lockstep/rollout/on_policy.hpp"
#include "network_policy.hpp"
#include "registry.hpp"

namespace lockstep::algorithms {
namespace {

std::shared_ptr<nn::ActorCritic> make_network(const config::Deck& deck) {
  const envs::EnvironmentSpec& environment = envs::environment_spec(deck.environment.name);
  return std::make_shared<nn::ActorCritic>(nn::ActorCriticOptions{
      .observation_size = environment.observation_size,
      .discrete = environment.action.discrete,
      .action_size = environment.action.size,
      .hidden = deck.network.hidden,
      .activation = nn::activation_from(deck.network.activation),
      .log_std = deck.network.log_std == "state" ? nn::LogStd::state : nn::LogStd::free,
  });
}

std::shared_ptr<nn::ActorCritic> make_initialized(const config::Deck& deck) {
  auto network = make_network(deck);
  network->initialize(static_cast<std::uint64_t>(deck.run.seed));
  return network;
}

losses::PpoOptions loss_options(const config::PpoSection& ppo) {
  return {.clip_low = ppo.clip,
          .clip_high = ppo.clip,
          .value_clip = ppo.value_clip > 0 ? std::optional(ppo.value_clip) : std::nullopt,
          .entropy_coefficient = ppo.entropy_coefficient,
          .value_coefficient = ppo.value_coefficient,
          .distance = losses::Distance::smooth_l1,
          .normalize_advantage = ppo.normalize_advantage};
}

rollout::OnPolicyOptions source_options(const config::Deck& deck, const learner::Learner& learner) {
  const config::PpoSection& ppo = deck.algorithm.ppo;
  return {.environment = deck.environment.name,
          .environments = deck.environment.count,
          .shards = deck.learner.shards,
          .first_shard = learner.first_shard(),
          .shard_stride = learner.shard_stride(),
          .own_shards = learner.own_shards(),
          .rollout_steps = ppo.rollout_steps,
          .epochs = ppo.epochs,
          .minibatch_rows = ppo.minibatch_size,
          .gamma = ppo.gamma,
          .lambda = ppo.lambda,
          .seed = static_cast<std::uint64_t>(deck.run.seed)};
}

std::unique_ptr<NetworkPolicy> make_policy_of(const config::Deck& deck,
                                              const std::shared_ptr<nn::ActorCritic>& network) {
  return std::make_unique<NetworkPolicy>(
      deck.environment.name, network,
      [network](const at::Tensor& observation) { return nn::mode(network->policy(observation)); });
}

class Ppo : public Algorithm {
 public:
  Ppo(const config::Deck& deck, comm::Collectives& collectives) : deck_(deck) {
    const auto network = make_initialized(deck);
    policy_ = make_policy_of(deck, network);
    loss_ = std::make_shared<losses::PpoLoss>(network, loss_options(deck.algorithm.ppo));
    auto stepper = std::make_shared<learner::OptimizationStepper>(
        std::vector<learner::ParameterGroup>{{.parameters = learner::trainable_parameters(*network),
                                              .options = optimizer_options(deck.optimizer)}},
        stepper_options(deck.learner));
    learner_ =
        std::make_unique<learner::Learner>(network, loss_, stepper, collectives, learner_options(deck));
    source_ = std::make_unique<rollout::OnPolicySource>(source_options(deck, *learner_), network);
  }

  learner::Learner& learner() override { return *learner_; }
  rollout::BatchSource& source() override { return *source_; }
  Policy& policy() override { return *policy_; }

  void schedule(const RunPosition& position) override {
    const double remaining = position.remaining();
    learner_->stepper().scale_learning_rates(deck_.optimizer.schedule == "linear" ? remaining : 1.0);
    const config::PpoSection& ppo = deck_.algorithm.ppo;
    const double clip = ppo.clip_schedule == "linear" ? ppo.clip * remaining : ppo.clip;
    loss_->set_clip(clip, clip);
  }

 private:
  config::Deck deck_;
  std::unique_ptr<NetworkPolicy> policy_;
  std::shared_ptr<losses::PpoLoss> loss_;
  std::unique_ptr<learner::Learner> learner_;
  std::unique_ptr<rollout::OnPolicySource> source_;
};

std::int64_t steps_a_round(const config::Deck& deck) {
  return deck.environment.count * deck.algorithm.ppo.rollout_steps;
}

// Sizes that divide the rollout and split into leaves.
std::string nearest_minibatches(std::int64_t rows, std::int64_t leaves, std::int64_t size) {
  if (rows % leaves != 0)
    return fmt::format("none, {} rows a round do not split into {} leaves", rows, leaves);
  std::vector<std::int64_t> sizes = config::divisors(rows);
  std::erase_if(sizes, [&](std::int64_t divisor) { return divisor % leaves != 0; });
  return config::nearest_of(sizes, size);
}

void check(const config::Deck& deck, std::vector<std::string>& problems) {
  const config::PpoSection& ppo = deck.algorithm.ppo;
  const config::LearnerSection& learner = deck.learner;
  const std::int64_t rows = steps_a_round(deck), size = ppo.minibatch_size;
  const std::int64_t leaves = learner.shards * learner.accumulation;
  if (rows % size != 0)
    problems.push_back(fmt::format(
        "environment.count * algorithm.rollout_steps = {} * {} = {} is no multiple of "
        "algorithm.minibatch_size = {}; nearest sizes that fit: {}",
        deck.environment.count, ppo.rollout_steps, rows, size, nearest_minibatches(rows, leaves, size)));
  if (size % leaves != 0)
    problems.push_back(fmt::format(
        "algorithm.minibatch_size = {} is no multiple of learner.shards * learner.accumulation = {} * {} = "
        "{}; nearest sizes that fit: {}",
        size, learner.shards, learner.accumulation, leaves, nearest_minibatches(rows, leaves, size)));
  if (ppo.normalize_advantage && size < 2)
    problems.push_back(fmt::format(
        "algorithm.minibatch_size = {} with algorithm.normalize_advantage = true: one row has no deviation; "
        "take at least 2 rows, or normalize_advantage = false",
        size));
}

}  // namespace

Registration ppo() {
  return {.name = "ppo",
          .network = "mlp actor-critic",
          .make = [](const config::Deck& deck, comm::Collectives& collectives) -> std::unique_ptr<Algorithm> {
            return std::make_unique<Ppo>(deck, collectives);
          },
          .make_policy = [](const config::Deck& deck) -> std::unique_ptr<Policy> {
            return make_policy_of(deck, make_initialized(deck));
          },
          .check = check,
          .steps_a_round = steps_a_round,
          .holdings = [](const config::Deck& deck) -> Holdings {
            return {.trained = parameter_specs(
                        {{.parameters = learner::trainable_parameters(*make_network(deck)), .options = {}}})};
          }};
}

}  // namespace lockstep::algorithms
