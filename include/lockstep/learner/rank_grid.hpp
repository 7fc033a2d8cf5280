// Two levels of ranks: groups that each hold everything, sharded among their ranks, and across the groups the
// ranks that hold the same slices.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "lockstep/comm/collectives.hpp"

namespace lockstep::learner {

class RankGrid {
 public:
  // Collective. `replicas` groups of neighbouring ranks; they divide the ranks.
  RankGrid(comm::Collectives& all, std::int64_t replicas);

  comm::Collectives& all() noexcept { return all_; }
  // The ranks among which this rank's group shards.
  comm::Collectives& group() noexcept { return own_group_ ? *own_group_ : all_; }
  std::int64_t replicas() const noexcept { return replicas_; }
  std::int64_t replica() const noexcept { return replica_; }  // this rank's group
  // Collective. Sums over groups, in the tree, what the ranks of one place hold; nothing with one group.
  void sum_over_replicas(void* data, std::size_t count, Dtype dtype);
  // Collective. Rank 0's bytes on every rank.
  void spread(std::span<std::byte> bytes);

 private:
  comm::Collectives& all_;
  std::int64_t replicas_, replica_ = 0;
  std::unique_ptr<comm::Collectives> own_group_, across_;  // with several groups
};

}  // namespace lockstep::learner
