#include "mpi_collectives.hpp"

#include <spdlog/fmt/fmt.h>

#include <utility>

#include "combine.hpp"
#include "communicator_handle.hpp"
#include "requirements.hpp"

namespace lockstep::comm {
namespace {

// Below this an all-reduce is bound by latency: fewer rounds beat fewer bytes.
constexpr std::size_t small_all_reduce = 64 << 10;

// One message, outside the queue: it waits for no collective, and none for it.
class Message final : public Operation {
 public:
  Message(MPI_Comm comm, std::string what) : exchange_(comm), what_(std::move(what)) {}
  Exchange& exchange() noexcept { return exchange_; }
  bool progress() override { return exchange_.done(); }
  std::string_view what() const noexcept override { return what_; }
  Patience patience() const noexcept override { return {.spins = 100, .yield_s = 2.0}; }

 private:
  Exchange exchange_;
  std::string what_;
};

}  // namespace

MpiCollectives::MpiCollectives(Communicator communicator, double deadline_s)
    : Collectives(std::move(communicator), deadline_s),
      group_(std::make_shared<MpiGroup>(MpiGroup{communicator_.handle().comm,
                                                 communicator_.rank(),
                                                 communicator_.size(),
                                                 {},
                                                 Survey(communicator_.handle().comm)})) {
  group_->survey.know(Peers(*this));
  reset_traffic();
}

MpiCollectives::~MpiCollectives() {
  // Operations that nobody waited for, after an error: MPI may still write into their buffers.
  if (!queue_->empty()) {
    new std::shared_ptr<OperationQueue>(queue_);
    new std::shared_ptr<MpiGroup>(group_);
  }
}

Call MpiCollectives::next_call(Kind kind, std::uint64_t bytes) noexcept {
  return {kind, ++sequence_, bytes};
}

staging::Buffer MpiCollectives::allocate(std::size_t bytes) {
  return staging::Buffer(bytes, "collective");
}

Request MpiCollectives::reduce_scatter(void* data, std::span<const std::size_t> cuts, Dtype dtype,
                                       Reduction reduction) {
  require_reducible(dtype, Kind::reduce_scatter);
  Slices slices(cuts, static_cast<std::size_t>(size()), dtype, Kind::reduce_scatter);
  const Call call = next_call(Kind::reduce_scatter, slices.total());
  count(Kind::reduce_scatter, slices.total() - slices.bytes(rank()));
  auto* bytes = static_cast<std::byte*>(data);
  if (reduction == Reduction::fast && MpiFastReduceScatter::fits(slices)) {
    return start(std::make_unique<MpiFastReduceScatter>(*group_, call, bytes, slices));
  }
  return start(std::make_unique<MpiReduceScatter>(*group_, call, bytes, std::move(slices), ReduceOp::sum));
}

Request MpiCollectives::all_gather(void* data, std::span<const std::size_t> cuts, Dtype dtype) {
  const Slices slices(cuts, static_cast<std::size_t>(size()), dtype, Kind::all_gather);
  const Call call = next_call(Kind::all_gather, slices.total());
  count(Kind::all_gather, slices.bytes(rank()) * static_cast<std::size_t>(size() - 1));
  return start(std::make_unique<MpiAllGather>(*group_, call, static_cast<std::byte*>(data), slices));
}

Request MpiCollectives::all_reduce(void* data, std::size_t elements, Dtype dtype, ReduceOp op) {
  require_reducible(dtype, Kind::all_reduce);
  const std::size_t bytes = elements * size_of(dtype);
  const Call call = next_call(Kind::all_reduce, bytes);
  auto* place = static_cast<std::byte*>(data);
  if (bytes <= small_all_reduce) {
    count(Kind::all_reduce, MpiTreeAllReduce::traffic(size(), bytes));
    return start(std::make_unique<MpiTreeAllReduce>(*group_, call, place, elements, dtype, op));
  }
  const Slices slices = Slices::even(elements, static_cast<std::size_t>(size()), dtype);
  count(Kind::all_reduce,
        bytes - slices.bytes(rank()) + slices.bytes(rank()) * static_cast<std::size_t>(size() - 1));
  return start(std::make_unique<MpiLargeAllReduce>(*group_, call, place, elements, dtype, op));
}

Request MpiCollectives::broadcast(std::span<std::byte> data, int root) {
  require_rank(Kind::broadcast, root, size());
  const Call call = next_call(Kind::broadcast, data.size());
  count(Kind::broadcast, rank() == root ? 0 : data.size());
  return start(std::make_unique<MpiBroadcast>(*group_, call, data, root));
}

Request MpiCollectives::gather(std::span<const std::byte> data, std::span<std::byte> out, int root) {
  require_rank(Kind::gather, root, size());
  if (rank() == root) require_room(data, out, size());
  const Call call = next_call(Kind::gather, data.size());
  count(Kind::gather, rank() == root ? 0 : data.size());
  return start(std::make_unique<MpiGather>(*group_, call, data, out, root));
}

Request MpiCollectives::send(std::span<const std::byte> data, int to, int tag) {
  require_rank(Kind::send, to, size());
  require_tag(Kind::send, tag);
  count(Kind::send, data.size());
  auto message = std::make_unique<Message>(
      group_->comm, fmt::format("send of {} bytes to rank {}, tag {}", data.size(), to, tag));
  message->exchange().send(data.data(), data.size(), to, tag);
  return {std::move(message), deadline_s_};
}

Request MpiCollectives::receive(std::span<std::byte> data, int from, int tag) {
  require_rank(Kind::receive, from, size());
  require_tag(Kind::receive, tag);
  count(Kind::receive, 0);
  auto message = std::make_unique<Message>(
      group_->comm, fmt::format("receive of {} bytes from rank {}, tag {}", data.size(), from, tag));
  message->exchange().receive(data.data(), data.size(), from, tag);
  return {std::move(message), deadline_s_};
}

Request MpiCollectives::barrier() {
  const Call call = next_call(Kind::barrier, 0);
  count(Kind::barrier, 0);
  return start(std::make_unique<MpiBarrier>(*group_, call));
}

}  // namespace lockstep::comm
