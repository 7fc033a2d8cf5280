// Off-policy collection: every shard steps its environments by an exploration policy into its own replay
// buffer, then gives batches drawn from that.
#pragma once

#include <functional>
#include <memory>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/core/random.hpp"
#include "lockstep/rollout/replay_buffer.hpp"
#include "lockstep/rollout/source.hpp"

namespace lockstep::rollout {

struct OffPolicyOptions {
  std::string environment;
  std::int64_t environments = 8;  // all shards together; a multiple of shards
  std::int64_t shards = 4;
  // This rank owns first_shard, first_shard + shard_stride, ..., own_shards of them.
  std::int64_t first_shard = 0, shard_stride = 1;
  std::int64_t own_shards = 4;
  std::int64_t rollout_steps = 1;     // of each environment, a round
  std::int64_t updates = 1;           // batches a round
  std::int64_t batch_rows = 256;      // all shards together; a multiple of shards
  std::int64_t capacity = 100000;     // all shards together; a multiple of shards
  std::int64_t initial_steps = 1000;  // of all environments together: uniformly random actions, no batches
  double alpha = 0, beta = 0.4;       // of prioritized replay; alpha = 0 is uniform
  std::uint64_t seed = 0;
};

// What to do while collecting. observation [n, o] float32 of a shard's environments -> actions [n] int64 or
// [n, a] float32 in the environment's bounds; draws come from `stream`, the shard's own. `taken` environment
// steps were made before this one, all environments together. Called without gradients, once a shard and
// step, always with the shard's n rows.
using Exploration =
    std::function<at::Tensor(const at::Tensor& observation, RandomStream& stream, std::int64_t taken)>;

// Batches have observation, action, reward, next.observation, terminated, and, where alpha > 0, weight; rows
// are drawn with replacement, batch_rows / shards from each shard. A round has `updates` steps, or none while
// fewer than initial_steps environment steps are taken. Draws: actions from (seed; action, shard), rows from
// (seed; replay, shard).
class OffPolicySource : public BatchSource {
 public:
  // ContractError naming the numbers where sizes do not divide. `collectives` merge the shards' weights where
  // alpha > 0, in Round::next, which then is collective; they must outlive the source and its rounds.
  OffPolicySource(const OffPolicyOptions& options, Exploration explore, comm::Collectives& collectives);
  ~OffPolicySource() override;
  // Rounds share the buffers: the steps of one are over before the next is collected. Feedback on a real step
  // sets the priorities of its rows to "row_td_error".
  std::unique_ptr<Round> collect() override;
  const ReplayBuffer& replay(std::int64_t own_shard) const;
  // "training/environment/...": those of VectorEnvironment::state, "action_draw" [shards] and "steps", a
  // scalar that every rank holds; "training/replay/...": those of ReplayBuffer::state and "draw" [shards].
  StateView state() override;
  void pack() override;
  void unpack() override;

 private:
  struct State;
  class DrawnRound;
  std::shared_ptr<State> state_;
};

}  // namespace lockstep::rollout
