// One shard of an on-policy source: its environments and its random streams.
#pragma once

#include <cstdint>

#include "lockstep/rollout/on_policy.hpp"

namespace lockstep::rollout {

class ShardCollector {
 public:
  // Shard `shard` of options.shards, whichever rank owns it.
  ShardCollector(const OnPolicyOptions& options, std::int64_t shard);

  // rollout_steps steps with the network as it is, and their advantages: every entry that data/batch.hpp
  // names, rows t * n + e. Adds the episodes that ended. Rewards are poisoned by a NaN where `poison` (fault
  // injection).
  Batch collect(nn::ActorCritic& network, CollectionStatistics& statistics, bool poison);

  // The shard's minibatch stream where it stands; it then moves on by `draws`.
  RandomStream take_minibatch_stream(std::uint64_t draws) noexcept;

  // This shard's part of the source's state. See VectorEnvironment for pack and unpack.
  StateView state();
  void pack();
  void unpack();

 private:
  const OnPolicyOptions options_;
  const std::int64_t shard_;
  envs::VectorEnvironment environments_;
  RandomStream actions_, minibatches_;
  std::int64_t saved_action_draw_ = 0, saved_minibatch_draw_ = 0;
};

}  // namespace lockstep::rollout
