#include "lockstep/rollout/on_policy.hpp"

#include <ATen/ATen.h>

#include "fit.hpp"
#include "lockstep/core/fault.hpp"
#include "lockstep/core/runtime.hpp"
#include "minibatch_round.hpp"
#include "option_checks.hpp"
#include "shard_collector.hpp"
#include "shard_state.hpp"

namespace lockstep::rollout {
namespace {

void check(const OnPolicyOptions& options) {
  check_positive("environments", options.environments);
  check_positive("shards", options.shards);
  check_positive("rollout steps", options.rollout_steps);
  check_positive("epochs", options.epochs);
  check_positive("minibatch rows", options.minibatch_rows);
  check_divides("environments", options.environments, "shards", options.shards);
  check_divides("minibatch rows", options.minibatch_rows, "shards", options.shards);
  check_divides("environments * rollout steps", options.environments * options.rollout_steps,
                "minibatch rows", options.minibatch_rows);
  check_own_shards(options.first_shard, options.shard_stride, options.own_shards, options.shards);
}

// The entries that the PPO loss reads: others are not worth gathering for every minibatch.
Batch training_entries(const Batch& rollout) {
  Batch batch;
  for (const std::string_view name :
       {key::observation, key::action, key::log_prob, key::value, key::advantage, key::value_target}) {
    batch.add(name, rollout.at(name));
  }
  return batch;
}

}  // namespace

struct OnPolicySource::State {
  OnPolicyOptions options;
  std::shared_ptr<nn::ActorCritic> network;
  std::vector<std::unique_ptr<ShardCollector>> shards;
  ShardedBatch rollout;
  std::int64_t rounds = 0;
};

OnPolicySource::OnPolicySource(const OnPolicyOptions& options, std::shared_ptr<nn::ActorCritic> network)
    : state_(std::make_unique<State>()) {
  check(options);
  check_fit(network->options(), envs::environment_spec(options.environment));
  state_->options = options;
  state_->network = std::move(network);
  for (std::int64_t i = 0; i < options.own_shards; ++i) {
    state_->shards.push_back(
        std::make_unique<ShardCollector>(options, options.first_shard + i * options.shard_stride));
  }
}

OnPolicySource::~OnPolicySource() = default;

const ShardedBatch& OnPolicySource::rollout() const noexcept {
  return state_->rollout;
}

std::unique_ptr<Round> OnPolicySource::collect() {
  State& state = *state_;
  const OnPolicyOptions& options = state.options;
  const double start = now_seconds();
  const bool poison = fault::at("collect", static_cast<std::uint64_t>(state.rounds)) == fault::Action::nan;
  CollectionStatistics statistics;
  statistics.environment_steps = options.environments * options.rollout_steps;
  state.rollout.clear();
  std::vector<ShuffledShard> shuffled;
  for (const auto& shard : state.shards) {
    state.rollout.push_back(shard->collect(*state.network, statistics, poison));
    const Batch& rows = state.rollout.back();
    const auto draws =
        static_cast<std::uint64_t>(options.epochs * rows.rows());  // a permutation draws once a row
    shuffled.push_back({training_entries(rows), shard->take_minibatch_stream(draws)});
  }
  ++state.rounds;
  statistics.seconds = now_seconds() - start;
  return std::make_unique<MinibatchRound>(std::move(shuffled), options.epochs,
                                          options.minibatch_rows / options.shards, std::move(statistics));
}

StateView OnPolicySource::state() {
  StateView view = state_->shards.front()->state();
  for (std::size_t i = 1; i < state_->shards.size(); ++i) add_extents(view, state_->shards[i]->state());
  view.add_whole("training/environment/rounds", Dtype::int64, {}, &state_->rounds);
  return view;
}

void OnPolicySource::pack() {
  for (const auto& shard : state_->shards) shard->pack();
}

void OnPolicySource::unpack() {
  for (const auto& shard : state_->shards) shard->unpack();
}

}  // namespace lockstep::rollout
