#include "shard_collector.hpp"

#include <ATen/ATen.h>

#include "shard_state.hpp"
#include "window.hpp"

namespace lockstep::rollout {
namespace {

Decision decide(nn::ActorCritic& network, const at::Tensor& observation, RandomStream& stream) {
  const nn::Distribution policy = network.policy(observation);
  const at::Tensor action = nn::sample(policy, stream);
  return {action, nn::log_prob(policy, action), network.value(observation)};
}

}  // namespace

ShardCollector::ShardCollector(const OnPolicyOptions& options, std::int64_t shard)
    : options_(options),
      shard_(shard),
      environments_(options.environment, options.environments / options.shards, options.seed,
                    static_cast<std::uint32_t>(shard)),
      actions_(options.seed, StreamId::action, static_cast<std::uint32_t>(shard)),
      minibatches_(options.seed, StreamId::minibatch, static_cast<std::uint32_t>(shard)) {}

Batch ShardCollector::collect(nn::ActorCritic& network, CollectionStatistics& statistics, bool poison) {
  const at::NoGradGuard no_gradient;  // not inference mode: what is stored here goes through backward later
  const std::int64_t steps = options_.rollout_steps;
  Window window(environments_.spec(), steps, environments_.count());
  for (std::int64_t t = 0; t < steps; ++t) {
    const at::Tensor& observation = environments_.observation();
    const Decision decision = decide(network, observation, actions_);
    window.put_decision(t, observation, decision);
    const envs::VectorStep& step = environments_.step(decision.action);
    window.put_step(t, step);
    statistics.count_episodes(step.returns);
    // All rows, whichever are needed: the row count decides the kernel, and so the bits.
    if (step.any_done || t + 1 == steps) window.put_next_value(t, network.value(step.next_observation));
  }
  if (poison) window.poison_reward();
  return window.finish(options_.gamma, options_.lambda);
}

RandomStream ShardCollector::take_minibatch_stream(std::uint64_t draws) noexcept {
  const RandomStream taken = minibatches_;
  minibatches_.set_draw(minibatches_.draw() + draws);
  return taken;
}

StateView ShardCollector::state() {
  const std::string prefix = "training/environment/";
  StateView view = environments_.state(prefix, shard_, options_.shards);
  add_shard_number(view, prefix + "action_draw", shard_, options_.shards, saved_action_draw_);
  add_shard_number(view, prefix + "minibatch_draw", shard_, options_.shards, saved_minibatch_draw_);
  return view;
}

void ShardCollector::pack() {
  environments_.pack();
  saved_action_draw_ = static_cast<std::int64_t>(actions_.draw());
  saved_minibatch_draw_ = static_cast<std::int64_t>(minibatches_.draw());
}

void ShardCollector::unpack() {
  environments_.unpack();
  actions_.set_draw(static_cast<std::uint64_t>(saved_action_draw_));
  minibatches_.set_draw(static_cast<std::uint64_t>(saved_minibatch_draw_));
}

}  // namespace lockstep::rollout
