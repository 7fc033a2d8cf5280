#include "minibatch_round.hpp"

#include <ATen/ATen.h>

namespace lockstep::rollout {

MinibatchRound::MinibatchRound(std::vector<ShuffledShard> shards, std::int64_t epochs,
                               std::int64_t minibatch_rows, CollectionStatistics statistics)
    : shards_(std::move(shards)),
      epochs_(epochs),
      minibatch_rows_(minibatch_rows),
      minibatches_(shards_.front().rows.rows() / minibatch_rows),
      statistics_(std::move(statistics)) {
  for (ShuffledShard& shard : shards_) shard.order = at::empty({shard.rows.rows()}, at::kLong);
}

void MinibatchRound::shuffle() {
  for (ShuffledShard& shard : shards_) {
    shard.stream.permutation(
        {shard.order.mutable_data_ptr<std::int64_t>(), static_cast<std::size_t>(shard.order.numel())});
  }
}

bool MinibatchRound::next(ShardedBatch& batch) {
  batch.clear();
  if (step_ == steps()) return false;
  const std::int64_t minibatch = step_ % minibatches_;
  if (minibatch == 0) shuffle();
  for (const ShuffledShard& shard : shards_) {
    batch.push_back(shard.rows.rows_at(shard.order.narrow(0, minibatch * minibatch_rows_, minibatch_rows_)));
  }
  ++step_;
  return true;
}

}  // namespace lockstep::rollout
