#include "shared_memory_collectives.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <random>
#include <utility>

#include "combine.hpp"
#include "lockstep/core/log.hpp"
#include "requirements.hpp"
#include "shared_memory_operations.hpp"

namespace lockstep::comm {
namespace {

// Up to here every rank adds all contributions itself; beyond, each adds a slice.
constexpr std::size_t small_all_reduce = 16 << 10;

std::size_t ranks_of(const SharedMemoryGroup& group) noexcept {
  return static_cast<std::size_t>(group.size());
}

// Collective. A name that no other job, and no remnant of one, has.
std::string agree_on_name(Collectives& bootstrap) {
  std::random_device device;
  return broadcast_text(bootstrap, fmt::format("/lockstep-{:08x}{:08x}", device(), device()), 0);
}

CallMark mark_of(Kind kind, Dtype dtype, std::uint64_t bytes, int detail,
                 const Window& window = {}) noexcept {
  return {kind, dtype, static_cast<std::uint16_t>(detail), bytes, window.allocation, window.offset};
}

}  // namespace

std::unique_ptr<SharedMemoryCollectives> SharedMemoryCollectives::make(std::unique_ptr<MpiCollectives>& mpi,
                                                                       std::string& problem) {
  const bool apart = mpi->communicator().split_node().size() != mpi->size();
  if (any_rank(*mpi, apart)) {
    problem = "the ranks do not share one node";
    return nullptr;
  }
  if (mpi->rank() == 0) sweep_remnants();
  std::string name = agree_on_name(*mpi);
  std::shared_ptr<SharedMemoryGroup> group = SharedMemoryGroup::make(*mpi, name + "-control", problem);
  if (group == nullptr) return nullptr;
  return std::unique_ptr<SharedMemoryCollectives>(
      new SharedMemoryCollectives(std::move(mpi), std::move(name), std::move(group)));
}

SharedMemoryCollectives::SharedMemoryCollectives(std::unique_ptr<MpiCollectives> mpi, std::string name,
                                                 std::shared_ptr<SharedMemoryGroup> group)
    : Collectives(mpi->communicator().duplicate(), mpi->deadline_s()),
      name_(std::move(name)),
      mpi_(std::move(mpi)),
      group_(std::move(group)),
      windows_(rank()) {}

std::string SharedMemoryCollectives::next_call(Kind kind, std::uint64_t bytes) {
  return Call{kind, ++sequence_, bytes}.text();
}

Request SharedMemoryCollectives::start(std::unique_ptr<Operation> operation) {
  return queue_->start(std::move(operation), deadline_s_);
}

staging::Buffer SharedMemoryCollectives::allocate(std::size_t bytes) {
  if (bytes == 0) return {};
  // What was started before must not wait for this rank while it agrees over MPI.
  start(std::make_unique<SharedBarrier>(*group_, mark_of(Kind::barrier, Dtype::uint8, bytes, 0),
                                        next_call(Kind::barrier, bytes)))
      .wait();
  std::string problem;
  const std::string name = fmt::format("{}-{}", name_, windows_.allocations() + 1);
  std::shared_ptr<SymmetricSegments> segments = SymmetricSegments::make(*mpi_, name, bytes, problem);
  if (segments == nullptr) {
    log::info(fmt::format("collectives: {} bytes in plain memory, not in the node's shared segment ({})",
                          bytes, problem));
    return staging::Buffer(bytes, "collective");
  }
  windows_.add(segments);
  std::byte* own = segments->base(rank());
  return {std::move(segments), own, bytes};
}

std::unique_ptr<Operation> SharedMemoryCollectives::make_reduce_scatter(const CallMark& mark,
                                                                        const std::string& what,
                                                                        std::byte* data, const Window& window,
                                                                        Slices slices, ReduceOp op) {
  if (window)
    return std::make_unique<WindowReduceScatter>(*group_, mark, what, window, std::move(slices), op);
  return std::make_unique<StagedReduceScatter>(*group_, mark, what, data, std::move(slices), op);
}

std::unique_ptr<Operation> SharedMemoryCollectives::make_all_gather(const CallMark& mark,
                                                                    const std::string& what, std::byte* data,
                                                                    const Window& window, Slices slices) {
  if (window) return std::make_unique<WindowAllGather>(*group_, mark, what, window, std::move(slices));
  return std::make_unique<StagedAllGather>(*group_, mark, what, data, std::move(slices));
}

Request SharedMemoryCollectives::reduce_scatter(void* data, std::span<const std::size_t> cuts, Dtype dtype,
                                                Reduction) {
  require_reducible(dtype, Kind::reduce_scatter);
  Slices slices(cuts, ranks_of(*group_), dtype, Kind::reduce_scatter);
  const std::string what = next_call(Kind::reduce_scatter, slices.total());
  count(Kind::reduce_scatter, slices.bytes(rank()) * (ranks_of(*group_) - 1));
  const Window window = windows_.find(data, slices.total());
  const CallMark mark = mark_of(Kind::reduce_scatter, dtype, slices.total(), 0, window);
  return start(make_reduce_scatter(mark, what, static_cast<std::byte*>(data), window, std::move(slices),
                                   ReduceOp::sum));
}

Request SharedMemoryCollectives::all_gather(void* data, std::span<const std::size_t> cuts, Dtype dtype) {
  Slices slices(cuts, ranks_of(*group_), dtype, Kind::all_gather);
  const std::string what = next_call(Kind::all_gather, slices.total());
  count(Kind::all_gather, slices.total() - slices.bytes(rank()));
  const Window window = windows_.find(data, slices.total());
  const CallMark mark = mark_of(Kind::all_gather, dtype, slices.total(), 0, window);
  return start(make_all_gather(mark, what, static_cast<std::byte*>(data), window, std::move(slices)));
}

Request SharedMemoryCollectives::all_reduce(void* raw, std::size_t elements, Dtype dtype, ReduceOp op) {
  require_reducible(dtype, Kind::all_reduce);
  const std::size_t bytes = elements * size_of(dtype);
  const std::string what = next_call(Kind::all_reduce, bytes);
  auto* data = static_cast<std::byte*>(raw);
  if (bytes <= std::min(small_all_reduce, group_->slot_bytes())) {
    count(Kind::all_reduce, bytes * (ranks_of(*group_) - 1));
    const CallMark mark = mark_of(Kind::all_reduce, dtype, bytes, static_cast<int>(op));
    return start(std::make_unique<SmallAllReduce>(*group_, mark, what, data, elements, dtype, op));
  }
  const Slices slices = Slices::even(elements, ranks_of(*group_), dtype);
  count(Kind::all_reduce, slices.bytes(rank()) * (ranks_of(*group_) - 1) + bytes - slices.bytes(rank()));
  const Window window = windows_.find(data, bytes);
  const CallMark mark = mark_of(Kind::all_reduce, dtype, bytes, static_cast<int>(op), window);
  return start(std::make_unique<SequenceOperation>(make_reduce_scatter(mark, what, data, window, slices, op),
                                                   make_all_gather(mark, what, data, window, slices)));
}

Request SharedMemoryCollectives::broadcast(std::span<std::byte> data, int root) {
  require_rank(Kind::broadcast, root, size());
  const std::string what = next_call(Kind::broadcast, data.size());
  count(Kind::broadcast, rank() == root ? 0 : data.size());
  const CallMark mark = mark_of(Kind::broadcast, Dtype::uint8, data.size(), root);
  return start(std::make_unique<SharedBroadcast>(*group_, mark, what, data, root));
}

Request SharedMemoryCollectives::gather(std::span<const std::byte> data, std::span<std::byte> out, int root) {
  require_rank(Kind::gather, root, size());
  if (rank() == root) require_room(data, out, size());
  const std::string what = next_call(Kind::gather, data.size());
  count(Kind::gather, rank() == root ? data.size() * (ranks_of(*group_) - 1) : 0);
  const CallMark mark = mark_of(Kind::gather, Dtype::uint8, data.size(), root);
  return start(std::make_unique<SharedGather>(*group_, mark, what, data, out, root));
}

Request SharedMemoryCollectives::send(std::span<const std::byte> data, int to, int tag) {
  Request request = mpi_->send(data, to, tag);
  count(Kind::send, data.size());
  return request;
}

Request SharedMemoryCollectives::receive(std::span<std::byte> data, int from, int tag) {
  Request request = mpi_->receive(data, from, tag);
  count(Kind::receive, 0);
  return request;
}

Request SharedMemoryCollectives::barrier() {
  count(Kind::barrier, 0);
  return start(std::make_unique<SharedBarrier>(*group_, mark_of(Kind::barrier, Dtype::uint8, 0, 0),
                                               next_call(Kind::barrier, 0)));
}

}  // namespace lockstep::comm
