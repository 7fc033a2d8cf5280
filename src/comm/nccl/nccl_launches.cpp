#include "nccl_launches.hpp"

#include <spdlog/fmt/fmt.h>

#include <utility>
#include <vector>

#include "cuda_check.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/reduction_tree.hpp"

namespace lockstep::comm {
namespace {

// Kernels read aligned operands faster, and ATen picks them by alignment.
constexpr std::size_t alignment = 256;

std::size_t aligned(std::size_t bytes) noexcept {
  return (bytes + alignment - 1) / alignment * alignment;
}

bool equal(const Slices& slices) noexcept {
  for (int r = 1; r < slices.ranks(); ++r) {
    if (slices.bytes(r) != slices.bytes(0)) return false;
  }
  return true;
}

ncclDataType_t nccl_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::float32:
      return ncclFloat32;
    case Dtype::float64:
      return ncclFloat64;
    case Dtype::int64:
      return ncclInt64;
    default:
      throw ContractError(fmt::format("no reduction of {}", to_string(dtype)));
  }
}

ncclRedOp_t nccl_op(ReduceOp op) noexcept {
  return op == ReduceOp::sum ? ncclSum : op == ReduceOp::max ? ncclMax : ncclMin;
}

void send(NcclChannel& channel, const std::byte* data, std::size_t bytes, int to) {
  if (bytes == 0) return;
  channel.call(ncclSend(data, bytes, ncclInt8, to, channel.communicator(), channel.stream()), "ncclSend");
}

void receive(NcclChannel& channel, std::byte* data, std::size_t bytes, int from) {
  if (bytes == 0) return;
  channel.call(ncclRecv(data, bytes, ncclInt8, from, channel.communicator(), channel.stream()), "ncclRecv");
}

void copy(NcclChannel& channel, std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0 || to == from) return;
  LOCKSTEP_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, channel.stream()));
}

}  // namespace

void launch_reduce_scatter(NcclChannel& channel, std::byte* data, const Slices& slices, int rank) {
  const ncclDataType_t type = nccl_type(slices.dtype());
  if (equal(slices)) {
    channel.call(ncclReduceScatter(data, data + slices.begin(rank), slices.elements(rank), type, ncclSum,
                                   channel.communicator(), channel.stream()),
                 "ncclReduceScatter");
    return;
  }
  channel.grouped([&] {
    for (int r = 0; r < slices.ranks(); ++r) {
      if (slices.bytes(r) == 0) continue;
      std::byte* slice = data + slices.begin(r);
      channel.call(ncclReduce(slice, slice, slices.elements(r), type, ncclSum, r, channel.communicator(),
                              channel.stream()),
                   "ncclReduce");
    }
  });
}

void launch_all_gather(NcclChannel& channel, std::byte* data, const Slices& slices, int rank) {
  if (equal(slices)) {
    channel.call(ncclAllGather(data + slices.begin(rank), data, slices.bytes(rank), ncclInt8,
                               channel.communicator(), channel.stream()),
                 "ncclAllGather");
    return;
  }
  channel.grouped([&] {
    for (int r = 0; r < slices.ranks(); ++r) {
      if (slices.bytes(r) > 0) launch_broadcast(channel, {data + slices.begin(r), slices.bytes(r)}, r);
    }
  });
}

void launch_all_reduce(NcclChannel& channel, std::byte* data, std::size_t count, Dtype dtype, ReduceOp op) {
  channel.call(ncclAllReduce(data, data, count, nccl_type(dtype), nccl_op(op), channel.communicator(),
                             channel.stream()),
               "ncclAllReduce");
}

void launch_broadcast(NcclChannel& channel, std::span<std::byte> data, int root) {
  channel.call(ncclBroadcast(data.data(), data.data(), data.size(), ncclInt8, root, channel.communicator(),
                             channel.stream()),
               "ncclBroadcast");
}

void launch_gather(NcclChannel& channel, std::span<const std::byte> data, std::span<std::byte> out, int root,
                   int rank, int size) {
  const auto place = [&](int r) { return out.data() + static_cast<std::size_t>(r) * data.size(); };
  if (rank == root) copy(channel, place(rank), data.data(), data.size());
  channel.grouped([&] {
    if (rank != root) return send(channel, data.data(), data.size(), root);
    for (int r = 0; r < size; ++r) {
      if (r != root) receive(channel, place(r), data.size(), r);
    }
  });
}

ExactReduceScatter::ExactReduceScatter(std::byte* data, Slices slices, int rank, DevicePool& pool)
    : data_(data),
      slices_(std::move(slices)),
      rank_(rank),
      stride_(aligned(slices_.bytes(rank))),
      scratch_(pool.take(stride_ * static_cast<std::size_t>(slices_.ranks() - 1))) {}

std::byte* ExactReduceScatter::contribution(int rank) const noexcept {
  if (rank == rank_) return own();
  return scratch_.get() + static_cast<std::size_t>(rank < rank_ ? rank : rank - 1) * stride_;
}

void ExactReduceScatter::launch_exchange(NcclChannel& channel) const {
  channel.grouped([&] {
    for (int r = 0; r < slices_.ranks(); ++r) {
      if (r == rank_) continue;
      send(channel, data_ + slices_.begin(r), slices_.bytes(r), r);
      receive(channel, contribution(r), slices_.bytes(rank_), r);
    }
  });
}

void ExactReduceScatter::launch_sum(NcclChannel& channel, const DeviceWork& work) const {
  const std::size_t count = slices_.elements(rank_);
  if (count == 0) return;
  std::vector<std::byte*> value;
  for (int r = 0; r < slices_.ranks(); ++r) value.push_back(contribution(r));
  std::size_t left = value.size() - 1;
  tree_combine(value.size(), [&](std::size_t into, std::size_t from) {
    std::byte* out = --left == 0 ? own() : value[into];
    work.add(out, value[into], value[from], count, slices_.dtype(), channel.stream());
    value[into] = out;
  });
}

}  // namespace lockstep::comm
