// Private: which calls of NCCL make up a collective. Each function is for NcclChannel::enqueue: it issues its
// calls on the channel's stream and waits for nothing. Buffers are device memory, in place.
#pragma once

#include <memory>
#include <span>

#include "../slices.hpp"
#include "lockstep/comm/device_work.hpp"
#include "nccl_channel.hpp"

namespace lockstep::comm {

// NCCL's own order of sums. ncclReduceScatter where the slices are equal, else one group of ncclReduce, a
// slice each.
void launch_reduce_scatter(NcclChannel& channel, std::byte* data, const Slices& slices, int rank);
// ncclAllGather where the slices are equal, else one group of ncclBroadcast, a slice each.
void launch_all_gather(NcclChannel& channel, std::byte* data, const Slices& slices, int rank);
// NCCL's own order: for max, min, and sums of integers, which no order changes.
void launch_all_reduce(NcclChannel& channel, std::byte* data, std::size_t count, Dtype dtype, ReduceOp op);
void launch_broadcast(NcclChannel& channel, std::span<std::byte> data, int root);
// One group of sends and receives; `out` is used on the root, `data` may be its own place there.
void launch_gather(NcclChannel& channel, std::span<const std::byte> data, std::span<std::byte> out, int root,
                   int rank, int size);

// The exact reduce-scatter in two launches. First one group of sends and receives brings every rank's
// contribution to this rank's slice into scratch; then DeviceWork::add combines them in tree order
// (core/reduction_tree.hpp) and writes the sum into the slice.
class ExactReduceScatter {
 public:
  ExactReduceScatter(std::byte* data, Slices slices, int rank, DevicePool& pool);
  void launch_exchange(NcclChannel& channel) const;
  void launch_sum(NcclChannel& channel, const DeviceWork& work) const;

 private:
  std::byte* own() const noexcept { return data_ + slices_.begin(rank_); }
  std::byte* contribution(int rank) const noexcept;

  std::byte* data_;
  Slices slices_;
  int rank_;
  std::size_t stride_;                  // between the places of scratch
  std::shared_ptr<std::byte> scratch_;  // a place for each rank but this one
};

}  // namespace lockstep::comm
