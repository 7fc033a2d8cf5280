#include "replay_shard.hpp"

#include <ATen/ATen.h>

#include <limits>

#include "shard_state.hpp"

namespace lockstep::rollout {

ReplayShard::ReplayShard(const OffPolicyOptions& options, std::int64_t shard)
    : options_(options),
      shard_(shard),
      environments_(options.environment, options.environments / options.shards, options.seed,
                    static_cast<std::uint32_t>(shard)),
      buffer_(environments_.spec(), options.capacity / options.shards, options.alpha),
      actions_(options.seed, StreamId::action, static_cast<std::uint32_t>(shard)),
      rows_(options.seed, StreamId::replay, static_cast<std::uint32_t>(shard)) {}

// Uniform over the actions, or over the bounds: one draw a number.
at::Tensor ReplayShard::random_action() {
  const envs::ActionSpace& space = environments_.spec().action;
  const std::int64_t n = environments_.count();
  if (space.discrete) {
    const at::Tensor action = at::empty({n}, at::kLong);
    for (std::int64_t i = 0; i < n; ++i)
      action.mutable_data_ptr<std::int64_t>()[i] =
          static_cast<std::int64_t>(actions_.below(static_cast<std::uint64_t>(space.size)));
    return action;
  }
  const at::Tensor action = at::empty({n, space.size}, at::kFloat);
  auto* numbers = action.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < n * space.size; ++i) {
    const auto dimension = static_cast<std::size_t>(i % space.size);
    numbers[i] = static_cast<float>(actions_.uniform(space.low[dimension], space.high[dimension]));
  }
  return action;
}

void ReplayShard::collect(const Exploration& explore, std::int64_t taken, CollectionStatistics& statistics,
                          bool poison) {
  const at::NoGradGuard no_gradient;
  for (std::int64_t t = 0; t < options_.rollout_steps; ++t) {
    const std::int64_t before = taken + t * options_.environments;
    // The environments write over their observation: it is kept until the row is stored.
    const at::Tensor observation = environments_.observation().clone();
    const at::Tensor action =
        before < options_.initial_steps ? random_action() : explore(observation, actions_, before);
    const envs::VectorStep& step = environments_.step(action);
    if (poison && t == 0) step.reward.mutable_data_ptr<float>()[0] = std::numeric_limits<float>::quiet_NaN();
    buffer_.add(observation, action, step);
    statistics.count_episodes(step.returns);
  }
}

at::Tensor ReplayShard::draw() {
  return buffer_.draw(options_.batch_rows / options_.shards, rows_);
}

StateView ReplayShard::state() {
  StateView view = environments_.state("training/environment/", shard_, options_.shards);
  add_shard_number(view, "training/environment/action_draw", shard_, options_.shards, saved_action_draw_);
  view.append(buffer_.state("training/replay/", shard_, options_.shards));
  add_shard_number(view, "training/replay/draw", shard_, options_.shards, saved_row_draw_);
  return view;
}

void ReplayShard::pack() {
  environments_.pack();
  buffer_.pack();
  saved_action_draw_ = static_cast<std::int64_t>(actions_.draw());
  saved_row_draw_ = static_cast<std::int64_t>(rows_.draw());
}

void ReplayShard::unpack() {
  environments_.unpack();
  buffer_.unpack();
  actions_.set_draw(static_cast<std::uint64_t>(saved_action_draw_));
  rows_.set_draw(static_cast<std::uint64_t>(saved_row_draw_));
}

}  // namespace lockstep::rollout
