#include "nccl_collectives.hpp"

#include <spdlog/fmt/fmt.h>

#include <utility>

#include "../combine.hpp"
#include "../requirements.hpp"
#include "device_choice.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/log.hpp"

namespace lockstep::comm {
namespace {

std::size_t ranks_of(const Collectives& collectives) noexcept {
  return static_cast<std::size_t>(collectives.size());
}

// Sums of integers, and extremes, are the same bits in every order.
bool any_order_will_do(Dtype dtype, ReduceOp op) noexcept {
  return dtype == Dtype::int64 || op != ReduceOp::sum;
}

// Of rank's share in a reduce-scatter and an all-gather.
std::size_t sent_by_scatter(const Slices& slices, int rank) noexcept {
  return slices.total() - slices.bytes(rank);
}
std::size_t sent_by_gather(const Slices& slices, int rank) noexcept {
  return slices.bytes(rank) * static_cast<std::size_t>(slices.ranks() - 1);
}

}  // namespace

NcclCollectives::NcclCollectives(std::unique_ptr<MpiCollectives> mpi, DeviceWork work)
    : Collectives(mpi->communicator().duplicate(), mpi->deadline_s()),
      mpi_(std::move(mpi)),
      work_(std::move(work)),
      device_(choose_device(*mpi_)) {
  int version = 0;
  static_cast<void>(ncclGetVersion(&version));
  log::info(fmt::format("collectives: NCCL {}.{}.{}, CUDA device {}", version / 10000, version / 100 % 100,
                        version % 100, device_));
  const ncclUniqueId id = share_unique_id(*mpi_);
  channel_ = std::make_unique<NcclChannel>(id, rank(), size(), deadline_s_, "collectives");
  const ncclUniqueId messages = share_unique_id(*mpi_);
  mailbox_ = std::make_unique<NcclMailbox>(messages, rank(), size(), deadline_s_);
  // Whoever waits for any collective moves on what waits for NCCL.
  mpi_->while_waiting([this] {
    channel_->advance();
    mailbox_->advance();
  });
}

NcclCollectives::~NcclCollectives() = default;

cudaStream_t NcclCollectives::caller() const {
  return work_.current_stream ? static_cast<cudaStream_t>(work_.current_stream()) : nullptr;
}

Request NcclCollectives::start(Kind kind, std::size_t bytes, Launches launches,
                               std::shared_ptr<const void> keeps) {
  return mpi_->start(std::make_unique<NcclOperation>(mpi_->group(), mpi_->next_call(kind, bytes), *channel_,
                                                     caller(), std::move(launches), std::move(keeps)));
}

std::shared_ptr<ExactReduceScatter> NcclCollectives::exact(std::byte* data, Slices slices, Kind kind,
                                                           Launches& launches) {
  if (!work_.add) {
    throw ContractError(fmt::format(
        "{}: an exact sum of device memory needs DeviceWork::add, which this build has with a CUDA LibTorch; "
        "fast needs none",
        to_string(kind)));
  }
  auto sum = std::make_shared<ExactReduceScatter>(data, std::move(slices), rank(), pool_);
  launches.emplace_back([this, sum] { sum->launch_exchange(*channel_); });
  launches.emplace_back([this, sum] { sum->launch_sum(*channel_, work_); });
  return sum;
}

staging::Buffer NcclCollectives::allocate(std::size_t bytes) {
  return mpi_->allocate(bytes);
}

Request NcclCollectives::reduce_scatter(void* data, std::span<const std::size_t> cuts, Dtype dtype,
                                        Reduction reduction) {
  require_reducible(dtype, Kind::reduce_scatter);
  const Slices slices(cuts, ranks_of(*this), dtype, Kind::reduce_scatter);
  count(Kind::reduce_scatter, sent_by_scatter(slices, rank()));
  if (slices.total() == 0 || !is_device_memory(data))
    return mpi_->reduce_scatter(data, cuts, dtype, reduction);
  auto* bytes = static_cast<std::byte*>(data);
  Launches launches;
  std::shared_ptr<const void> keeps;
  if (reduction == Reduction::exact && !any_order_will_do(dtype, ReduceOp::sum)) {
    keeps = exact(bytes, slices, Kind::reduce_scatter, launches);
  } else {
    launches.emplace_back([this, bytes, slices] { launch_reduce_scatter(*channel_, bytes, slices, rank()); });
  }
  return start(Kind::reduce_scatter, slices.total(), std::move(launches), std::move(keeps));
}

Request NcclCollectives::all_gather(void* data, std::span<const std::size_t> cuts, Dtype dtype) {
  const Slices slices(cuts, ranks_of(*this), dtype, Kind::all_gather);
  count(Kind::all_gather, sent_by_gather(slices, rank()));
  if (slices.total() == 0 || !is_device_memory(data)) return mpi_->all_gather(data, cuts, dtype);
  auto* bytes = static_cast<std::byte*>(data);
  return start(Kind::all_gather, slices.total(),
               {[this, bytes, slices] { launch_all_gather(*channel_, bytes, slices, rank()); }});
}

Request NcclCollectives::all_reduce(void* data, std::size_t elements, Dtype dtype, ReduceOp op) {
  require_reducible(dtype, Kind::all_reduce);
  if (elements == 0 || !is_device_memory(data)) {
    const Traffic before = mpi_->traffic();
    Request request = mpi_->all_reduce(data, elements, dtype, op);
    count_over_mpi(Kind::all_reduce, before);
    return request;
  }
  const Slices slices = Slices::even(elements, ranks_of(*this), dtype);
  count(Kind::all_reduce, sent_by_scatter(slices, rank()) + sent_by_gather(slices, rank()));
  auto* bytes = static_cast<std::byte*>(data);
  Launches launches;
  std::shared_ptr<const void> keeps;
  if (any_order_will_do(dtype, op)) {
    launches.emplace_back(
        [this, bytes, elements, dtype, op] { launch_all_reduce(*channel_, bytes, elements, dtype, op); });
  } else {
    keeps = exact(bytes, slices, Kind::all_reduce, launches);
    launches.emplace_back([this, bytes, slices] { launch_all_gather(*channel_, bytes, slices, rank()); });
  }
  return start(Kind::all_reduce, slices.total(), std::move(launches), std::move(keeps));
}

Request NcclCollectives::broadcast(std::span<std::byte> data, int root) {
  require_rank(Kind::broadcast, root, size());
  count(Kind::broadcast, rank() == root ? 0 : data.size());
  if (data.empty() || !is_device_memory(data.data())) return mpi_->broadcast(data, root);
  return start(Kind::broadcast, data.size(),
               {[this, data, root] { launch_broadcast(*channel_, data, root); }});
}

Request NcclCollectives::gather(std::span<const std::byte> data, std::span<std::byte> out, int root) {
  require_rank(Kind::gather, root, size());
  if (rank() == root) require_room(data, out, size());
  count(Kind::gather, rank() == root ? 0 : data.size());
  if (data.empty() || !is_device_memory(data.data())) return mpi_->gather(data, out, root);
  if (rank() == root && !is_device_memory(out.data()))
    throw ContractError(
        "gather: the root's `out` is host memory for data in device memory; both are needed on the device");
  return start(Kind::gather, data.size(),
               {[this, data, out, root] { launch_gather(*channel_, data, out, root, rank(), size()); }});
}

Request NcclCollectives::send(std::span<const std::byte> data, int to, int tag) {
  require_rank(Kind::send, to, size());
  require_tag(Kind::send, tag);
  count(Kind::send, data.size());
  if (data.empty() || !is_device_memory(data.data())) return mpi_->send(data, to, tag);
  return {mailbox_->send(data, to, caller(),
                         fmt::format("send of {} bytes to rank {} over NCCL", data.size(), to)),
          deadline_s_};
}

Request NcclCollectives::receive(std::span<std::byte> data, int from, int tag) {
  require_rank(Kind::receive, from, size());
  require_tag(Kind::receive, tag);
  count(Kind::receive, 0);
  if (data.empty() || !is_device_memory(data.data())) return mpi_->receive(data, from, tag);
  return {mailbox_->receive(data, from, caller(),
                            fmt::format("receive of {} bytes from rank {} over NCCL", data.size(), from)),
          deadline_s_};
}

Request NcclCollectives::barrier() {
  count(Kind::barrier, 0);
  return mpi_->barrier();
}

void NcclCollectives::count_over_mpi(Kind kind, const Traffic& before) {
  const auto i = static_cast<std::size_t>(kind);
  count(kind, mpi_->traffic().bytes[i] - before.bytes[i]);
}

}  // namespace lockstep::comm
