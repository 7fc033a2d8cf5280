// PPO: on-policy rollouts, clipped objective, an actor and a critic in one parameter group.
#include "lockstep/losses/ppo.hpp"

#include <optional>

#include "lockstep/envs/environment.hpp"
#include "lockstep/rollout/on_policy.hpp"
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

losses::PpoOptions loss_options(const config::PpoSection& ppo) {
  return {.clip_low = ppo.clip,
          .clip_high = ppo.clip,
          .value_clip = ppo.value_clip > 0 ? std::optional(ppo.value_clip) : std::nullopt,
          .entropy_coefficient = ppo.entropy_coefficient,
          .value_coefficient = ppo.value_coefficient,
          .distance = losses::Distance::smooth_l1,
          .normalize_advantage = ppo.normalize_advantage};
}

learner::OptimizerOptions optimizer_options(const config::OptimizerSection& section) {
  return {.kind = learner::optimizer_kind_from(section.name),
          .learning_rate = section.learning_rate,
          .weight_decay = section.weight_decay,
          .beta1 = section.beta1,
          .beta2 = section.beta2,
          .epsilon = section.epsilon,
          .momentum = section.momentum};
}

learner::LearnerOptions learner_options(const config::LearnerSection& section) {
  return {
      .shards = section.shards,
      .store = {.sharding = learner::sharding_from(section.sharding),
                .reduction = section.reduction == "fast" ? comm::Reduction::fast : comm::Reduction::exact}};
}

rollout::OnPolicyOptions source_options(const config::Deck& deck, const learner::Learner& learner) {
  const config::PpoSection& ppo = deck.algorithm.ppo;
  return {.environment = deck.environment.name,
          .environments = deck.environment.count,
          .shards = deck.learner.shards,
          .first_shard = learner.first_shard(),
          .own_shards = learner.own_shards(),
          .rollout_steps = ppo.rollout_steps,
          .epochs = ppo.epochs,
          .minibatch_rows = ppo.minibatch_size,
          .gamma = ppo.gamma,
          .lambda = ppo.lambda,
          .seed = static_cast<std::uint64_t>(deck.run.seed)};
}

class PpoPolicy : public Policy {
 public:
  explicit PpoPolicy(const config::Deck& deck)
      : environment_(deck.environment.name), network_(make_network(deck)) {
    network_->initialize(static_cast<std::uint64_t>(deck.run.seed));
  }
  torch::nn::Module& module() override { return *network_; }
  rollout::EvaluationResult evaluate(comm::Collectives& collectives, std::int64_t episodes,
                                     std::uint64_t seed, const std::function<bool()>& stop) override {
    return rollout::evaluate(collectives, *network_, environment_, episodes, seed, stop);
  }
  const std::shared_ptr<nn::ActorCritic>& network() const { return network_; }

 private:
  std::string environment_;
  std::shared_ptr<nn::ActorCritic> network_;
};

class Ppo : public Algorithm {
 public:
  Ppo(const config::Deck& deck, comm::Collectives& collectives) : deck_(deck), policy_(deck) {
    const auto& network = policy_.network();
    loss_ = std::make_shared<losses::PpoLoss>(network, loss_options(deck.algorithm.ppo));
    auto stepper = std::make_shared<learner::OptimizationStepper>(
        std::vector<learner::ParameterGroup>{{.parameters = learner::trainable_parameters(*network),
                                              .options = optimizer_options(deck.optimizer)}},
        learner::StepperOptions{.accumulation = deck.learner.accumulation,
                                .clip_norm = deck.learner.clip_norm,
                                .max_skips = deck.learner.max_skips});
    learner_ = std::make_unique<learner::Learner>(network, loss_, stepper, collectives,
                                                  learner_options(deck.learner));
    source_ = std::make_unique<rollout::OnPolicySource>(source_options(deck, *learner_), network);
  }

  learner::Learner& learner() override { return *learner_; }
  rollout::BatchSource& source() override { return *source_; }
  Policy& policy() override { return policy_; }

  void schedule(const RunPosition& position) override {
    const double remaining = position.remaining();
    const double rate = deck_.optimizer.learning_rate;
    learner_->stepper().set_learning_rate(deck_.optimizer.schedule == "linear" ? rate * remaining : rate);
    const config::PpoSection& ppo = deck_.algorithm.ppo;
    const double clip = ppo.clip_schedule == "linear" ? ppo.clip * remaining : ppo.clip;
    loss_->set_clip(clip, clip);
  }

 private:
  config::Deck deck_;
  PpoPolicy policy_;
  std::shared_ptr<losses::PpoLoss> loss_;
  std::unique_ptr<learner::Learner> learner_;
  std::unique_ptr<rollout::OnPolicySource> source_;
};

}  // namespace

std::unique_ptr<Algorithm> make_ppo(const config::Deck& deck, comm::Collectives& collectives) {
  return std::make_unique<Ppo>(deck, collectives);
}

std::unique_ptr<Policy> make_ppo_policy(const config::Deck& deck) {
  return std::make_unique<PpoPolicy>(deck);
}

std::vector<learner::ParameterSpec> ppo_parameters(const config::Deck& deck) {
  std::vector<learner::ParameterSpec> specs;
  for (const learner::NamedTensor& parameter : learner::trainable_parameters(*make_network(deck)))
    specs.push_back({.name = parameter.name,
                     .shape = parameter.tensor.sizes().vec(),
                     .dtype = Dtype::float32,
                     .group = 0});
  return specs;
}

}  // namespace lockstep::algorithms
