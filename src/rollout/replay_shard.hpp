// One shard of an off-policy source: its environments, its buffer and its random streams.
#pragma once

#include <cstdint>

#include "lockstep/rollout/off_policy.hpp"

namespace lockstep::rollout {

class ReplayShard {
 public:
  // Shard `shard` of options.shards, whichever rank owns it.
  ReplayShard(const OffPolicyOptions& options, std::int64_t shard);

  // rollout_steps steps into the buffer, of which all shards have made `taken` environment steps before. Adds
  // the episodes that ended. The first reward is a NaN where `poison` (fault injection).
  void collect(const Exploration& explore, std::int64_t taken, CollectionStatistics& statistics, bool poison);

  // The rows of the next batch.
  at::Tensor draw();
  ReplayBuffer& buffer() noexcept { return buffer_; }

  // This shard's part of the source's state.
  StateView state();
  void pack();
  void unpack();

 private:
  at::Tensor random_action();

  const OffPolicyOptions options_;
  const std::int64_t shard_;
  envs::VectorEnvironment environments_;
  ReplayBuffer buffer_;
  RandomStream actions_, rows_;
  std::int64_t saved_action_draw_ = 0, saved_row_draw_ = 0;
};

}  // namespace lockstep::rollout
