#include "lockstep/learner/rank_grid.hpp"

namespace lockstep::learner {

RankGrid::RankGrid(comm::Collectives& all, std::int64_t replicas) : all_(all), replicas_(replicas) {
  if (replicas == 1) return;
  const std::int64_t group_size = all.size() / replicas;
  const auto place = static_cast<int>(all.rank() % group_size);
  replica_ = all.rank() / group_size;
  // "auto": a group within a node may share its memory, while the ranks across nodes cannot.
  own_group_ = comm::make_collectives(all.communicator().split(static_cast<int>(replica_), place), "auto",
                                      all.deadline_s());
  across_ = comm::make_collectives(all.communicator().split(place, static_cast<int>(replica_)), "auto",
                                   all.deadline_s());
}

void RankGrid::sum_over_replicas(void* data, std::size_t count, Dtype dtype) {
  if (across_) across_->all_reduce(data, count, dtype, comm::ReduceOp::sum).wait();
}

void RankGrid::spread(std::span<std::byte> bytes) {
  group().broadcast(bytes, 0).wait();
  if (across_) across_->broadcast(bytes, 0).wait();
}

}  // namespace lockstep::learner
