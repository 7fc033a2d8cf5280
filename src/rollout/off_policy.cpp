#include "lockstep/rollout/off_policy.hpp"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>

#include "lockstep/core/error.hpp"
#include "lockstep/core/fault.hpp"
#include "lockstep/core/runtime.hpp"
#include "lockstep/learner/optimization_stepper.hpp"
#include "option_checks.hpp"
#include "replay_shard.hpp"
#include "shard_state.hpp"

namespace lockstep::rollout {
namespace {

void check(const OffPolicyOptions& options) {
  check_positive("environments", options.environments);
  check_positive("shards", options.shards);
  check_positive("rollout steps", options.rollout_steps);
  check_positive("updates", options.updates);
  check_positive("batch rows", options.batch_rows);
  check_positive("capacity", options.capacity);
  check_divides("environments", options.environments, "shards", options.shards);
  check_divides("batch rows", options.batch_rows, "shards", options.shards);
  check_divides("capacity", options.capacity, "shards", options.shards);
  check_own_shards(options.first_shard, options.shard_stride, options.own_shards, options.shards);
  if (options.initial_steps < 0)
    throw ContractError(fmt::format("initial steps = {}; they cannot be negative", options.initial_steps));
}

}  // namespace

struct OffPolicySource::State {
  OffPolicyOptions options;
  Exploration explore;
  comm::Collectives& collectives;
  std::vector<std::unique_ptr<ReplayShard>> shards = {};
  std::int64_t steps = 0;  // of all environments together

  bool prioritized() const { return options.alpha > 0; }
  // Collective. The least share that any row has in its shard's sum, over all shards of all ranks.
  double smallest_share() const {
    double share = std::numeric_limits<double>::infinity();
    for (const auto& shard : shards) share = std::min(share, shard->buffer().smallest_share());
    collectives.all_reduce(&share, 1, Dtype::float64, comm::ReduceOp::min).wait();
    return share;
  }
};

// Batches drawn one by one, as the steps before them leave the priorities.
class OffPolicySource::DrawnRound : public Round {
 public:
  DrawnRound(std::shared_ptr<State> state, std::int64_t steps, CollectionStatistics statistics)
      : state_(std::move(state)), steps_(steps), statistics_(std::move(statistics)) {}

  bool next(ShardedBatch& batch) override {
    batch.clear();
    drawn_.clear();
    if (step_ == steps_) return false;
    ++step_;
    const double share = state_->prioritized() ? state_->smallest_share() : 0;
    for (const auto& shard : state_->shards) {
      drawn_.push_back(shard->draw());
      batch.push_back(shard->buffer().rows_at(drawn_.back()));
      if (state_->prioritized())
        batch.back().add(key::weight, shard->buffer().weights(drawn_.back(), state_->options.beta, share));
    }
    return true;
  }

  void feedback(const learner::StepResult& result) override {
    if (!state_->prioritized() || !result.stepped) return;
    for (std::size_t i = 0; i < drawn_.size(); ++i)
      state_->shards[i]->buffer().set_priorities(drawn_[i], result.rows.at(i).at("row_td_error"));
  }

  std::int64_t steps() const noexcept override { return steps_; }
  const CollectionStatistics& statistics() const noexcept override { return statistics_; }

 private:
  std::shared_ptr<State> state_;
  std::int64_t steps_, step_ = 0;
  CollectionStatistics statistics_;
  std::vector<at::Tensor> drawn_;  // the last batch's rows, a shard each
};

OffPolicySource::OffPolicySource(const OffPolicyOptions& options, Exploration explore,
                                 comm::Collectives& collectives) {
  check(options);
  state_ = std::make_shared<State>(State{options, std::move(explore), collectives});
  for (std::int64_t i = 0; i < options.own_shards; ++i)
    state_->shards.push_back(
        std::make_unique<ReplayShard>(options, options.first_shard + i * options.shard_stride));
}

OffPolicySource::~OffPolicySource() = default;

std::unique_ptr<Round> OffPolicySource::collect() {
  State& state = *state_;
  const OffPolicyOptions& options = state.options;
  const double start = now_seconds();
  CollectionStatistics statistics;
  statistics.environment_steps = options.environments * options.rollout_steps;
  const auto round = static_cast<std::uint64_t>(state.steps / statistics.environment_steps);
  const bool poison = fault::at("collect", round) == fault::Action::nan;
  for (const auto& shard : state.shards) shard->collect(state.explore, state.steps, statistics, poison);
  state.steps += statistics.environment_steps;
  statistics.seconds = now_seconds() - start;
  const bool enough = state.steps >= options.initial_steps;
  return std::make_unique<DrawnRound>(state_, enough ? options.updates : 0, std::move(statistics));
}

const ReplayBuffer& OffPolicySource::replay(std::int64_t own_shard) const {
  return state_->shards.at(static_cast<std::size_t>(own_shard))->buffer();
}

StateView OffPolicySource::state() {
  StateView view = state_->shards.front()->state();
  for (std::size_t i = 1; i < state_->shards.size(); ++i) add_extents(view, state_->shards[i]->state());
  view.add_whole("training/environment/steps", Dtype::int64, {}, &state_->steps);
  return view;
}

void OffPolicySource::pack() {
  for (const auto& shard : state_->shards) shard->pack();
}

void OffPolicySource::unpack() {
  for (const auto& shard : state_->shards) shard->unpack();
}

}  // namespace lockstep::rollout
