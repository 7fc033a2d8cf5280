// On-policy rollouts: every shard steps its environments with the current policy, estimates advantages, then
// gives epochs of minibatches shuffled within the shard.
#pragma once

#include <memory>

#include "lockstep/envs/vector_environment.hpp"
#include "lockstep/nn/actor_critic.hpp"
#include "lockstep/rollout/source.hpp"

namespace lockstep::rollout {

struct OnPolicyOptions {
  std::string environment;
  std::int64_t environments = 8;  // all shards together; a multiple of shards
  std::int64_t shards = 4;
  // This rank owns first_shard, first_shard + shard_stride, ..., own_shards of them.
  std::int64_t first_shard = 0, shard_stride = 1;
  std::int64_t own_shards = 4;
  std::int64_t rollout_steps = 128;  // of each environment
  std::int64_t epochs = 10;
  std::int64_t minibatch_rows =
      256;  // all shards together; a multiple of shards that divides environments * rollout_steps
  double gamma = 0.99, lambda = 0.95;
  std::uint64_t seed = 0;
};

// Rows of a shard's minibatch are minibatch_rows / shards. The network is called once a shard and step,
// always with the shard's environments as rows. V of a final observation is computed with the same row count.
// Draws: actions from (seed; action, shard), permutations from (seed; minibatch, shard).
class OnPolicySource : public BatchSource {
 public:
  // ContractError naming both numbers where sizes do not divide, or the network does not fit the environment.
  OnPolicySource(const OnPolicyOptions& options, std::shared_ptr<nn::ActorCritic> network);
  ~OnPolicySource() override;
  // One window of rollout_steps, then epochs of minibatches with what the PPO loss reads: observation,
  // action, log_prob, value, advantage, value_target. The round keeps what it needs: it may be left early and
  // may outlive the source.
  std::unique_ptr<Round> collect() override;
  // The last window, a Batch for each shard of this rank with every entry that data/batch.hpp names, rows t *
  // n + e; empty before the first.
  const ShardedBatch& rollout() const noexcept;
  // Entries "training/environment/...": those of VectorEnvironment::state, "action_draw" [shards],
  // "minibatch_draw" [shards], and "rounds", a scalar that every rank holds. As of the next round's start, at
  // any time after collect.
  StateView state() override;
  void pack() override;
  void unpack() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::rollout
