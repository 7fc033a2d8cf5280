// Epochs of minibatches over one collection, shuffled within each shard.
#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/core/random.hpp"
#include "lockstep/rollout/source.hpp"

namespace lockstep::rollout {

// One shard's rows, and the stream that shuffles them.
struct ShuffledShard {
  Batch rows;
  RandomStream stream;
  at::Tensor order = {};  // int64 [rows], of the running epoch
};

class MinibatchRound : public Round {
 public:
  // Each epoch draws one permutation a shard; its m-th minibatch is the m-th run of `minibatch_rows` (a
  // shard's; they divide its rows) of that permutation.
  MinibatchRound(std::vector<ShuffledShard> shards, std::int64_t epochs, std::int64_t minibatch_rows,
                 CollectionStatistics statistics);
  bool next(ShardedBatch& batch) override;
  std::int64_t steps() const noexcept override { return epochs_ * minibatches_; }
  const CollectionStatistics& statistics() const noexcept override { return statistics_; }

 private:
  void shuffle();

  std::vector<ShuffledShard> shards_;
  std::int64_t epochs_, minibatch_rows_, minibatches_;
  CollectionStatistics statistics_;
  std::int64_t step_ = 0;
};

}  // namespace lockstep::rollout
