#include "mpi_operations.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "combine.hpp"
#include "core/mpi_check.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/reduction_tree.hpp"
#include "tags.hpp"

namespace lockstep::comm {
namespace {

constexpr std::size_t cache_line = 64;

std::size_t aligned(std::size_t bytes) noexcept {
  return (bytes + cache_line - 1) / cache_line * cache_line;
}

MPI_Datatype mpi_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::float32:
      return MPI_FLOAT;
    case Dtype::float64:
      return MPI_DOUBLE;
    case Dtype::int64:
      return MPI_INT64_T;
    default:
      throw ContractError(fmt::format("no reduction of {}", to_string(dtype)));
  }
}

int power_of_two_block(int ranks) noexcept {
  return static_cast<int>(power_of_two_factor(static_cast<std::size_t>(ranks)));
}

}  // namespace

std::string Call::text() const {
  return fmt::format("{} #{}, {} bytes", to_string(kind), sequence, bytes);
}

MpiOperation::MpiOperation(MpiGroup& group, const Call& call)
    : group_(group),
      sequence_(call.sequence),
      tag_(tags::of_collective(call.sequence)),
      exchange_(group.comm),
      what_(call.text()) {}

MpiReduceScatter::MpiReduceScatter(MpiGroup& group, const Call& call, std::byte* data, Slices slices,
                                   ReduceOp op)
    : MpiOperation(group, call), data_(data), slices_(std::move(slices)), op_(op) {
  const std::size_t own = slices_.bytes(group.rank);
  const std::size_t stride = aligned(own);
  received_ = group.scratch.take(stride * static_cast<std::size_t>(group.size - 1));
  std::byte* place = received_->data();
  for (int r = 0; r < group.size; ++r) {
    if (r == group.rank) {
      contributions_.push_back(data_ + slices_.begin(r));
      continue;
    }
    exchange_.receive(place, own, r, tag_);
    contributions_.push_back(place);
    place += stride;
  }
  for (int r = 0; r < group.size; ++r) {
    if (r != group.rank) exchange_.send(data_ + slices_.begin(r), slices_.bytes(r), r, tag_);
  }
}

bool MpiReduceScatter::progress() {
  if (!exchange_.done()) return false;
  combine(contributions_, data_ + slices_.begin(group_.rank), slices_.elements(group_.rank), slices_.dtype(),
          op_);
  received_.reset();
  return true;
}

MpiFastReduceScatter::MpiFastReduceScatter(MpiGroup& group, const Call& call, std::byte* data,
                                           const Slices& slices)
    : MpiOperation(group, call),
      own_(data + slices.begin(group.rank)),
      own_bytes_(slices.bytes(group.rank)),
      result_(group.scratch.take(own_bytes_)) {
  for (int r = 0; r < group.size; ++r) counts_.push_back(static_cast<int>(slices.elements(r)));
  MPI_Request request = MPI_REQUEST_NULL;
  LOCKSTEP_MPI(MPI_Ireduce_scatter(data, result_->data(), counts_.data(), mpi_type(slices.dtype()), MPI_SUM,
                                   group.comm, &request));
  exchange_.add(request);
}

bool MpiFastReduceScatter::fits(const Slices& slices) noexcept {
  return slices.total() < (std::size_t{1} << 31);
}

bool MpiFastReduceScatter::progress() {
  if (!exchange_.done()) return false;
  if (own_bytes_ > 0) std::memcpy(own_, result_->data(), own_bytes_);
  result_.reset();
  return true;
}

MpiAllGather::MpiAllGather(MpiGroup& group, const Call& call, std::byte* data, const Slices& slices)
    : MpiOperation(group, call) {
  for (int r = 0; r < group.size; ++r) {
    if (r != group.rank) exchange_.receive(data + slices.begin(r), slices.bytes(r), r, tag_);
  }
  for (int r = 0; r < group.size; ++r) {
    if (r != group.rank) exchange_.send(data + slices.begin(group.rank), slices.bytes(group.rank), r, tag_);
  }
}

MpiTreeAllReduce::MpiTreeAllReduce(MpiGroup& group, const Call& call, std::byte* data, std::size_t count,
                                   Dtype dtype, ReduceOp op)
    : MpiOperation(group, call),
      data_(data),
      count_(count),
      bytes_(count * size_of(dtype)),
      dtype_(dtype),
      op_(op) {
  if (next_partners()) post();
}

std::size_t MpiTreeAllReduce::traffic(int ranks, std::size_t bytes) noexcept {
  const int block = power_of_two_block(ranks);
  const int rounds = std::countr_zero(static_cast<unsigned>(block));
  return static_cast<std::size_t>(rounds + ranks / block - 1) * bytes;
}

// Who combines with whom next; false when all is combined.
bool MpiTreeAllReduce::next_partners() {
  const int block = power_of_two_block(group_.size);
  partners_.clear();
  if (width_ < block) {
    const int lower = group_.rank & ~width_;
    partners_ = {lower, lower | width_};
  } else if (width_ == block && group_.size > block) {
    for (int r = group_.rank % block; r < group_.size; r += block) partners_.push_back(r);
  }
  return !partners_.empty();
}

void MpiTreeAllReduce::post() {
  const std::size_t stride = aligned(bytes_);
  received_ = group_.scratch.take(stride * partners_.size());
  for (std::size_t i = 0; i < partners_.size(); ++i) {
    if (partners_[i] == group_.rank) continue;
    exchange_.receive(received_->data() + i * stride, bytes_, partners_[i], tag_);
    exchange_.send(data_, bytes_, partners_[i], tag_);
  }
}

void MpiTreeAllReduce::reduce() {
  std::vector<const std::byte*> values;
  values.reserve(partners_.size());
  for (std::size_t i = 0; i < partners_.size(); ++i) {
    values.push_back(partners_[i] == group_.rank ? data_ : received_->data() + i * aligned(bytes_));
  }
  combine(values, data_, count_, dtype_, op_);
}

bool MpiTreeAllReduce::progress() {
  while (!partners_.empty()) {
    if (!exchange_.done()) return false;
    reduce();
    width_ *= 2;
    // The odd rest is the last exchange: no width after it.
    if (partners_.size() > 2 || !next_partners()) break;
    post();
  }
  partners_.clear();
  received_.reset();
  return true;
}

MpiLargeAllReduce::MpiLargeAllReduce(MpiGroup& group, const Call& call, std::byte* data, std::size_t count,
                                     Dtype dtype, ReduceOp op)
    : MpiOperation(group, call),
      call_(call),
      data_(data),
      slices_(Slices::even(count, static_cast<std::size_t>(group.size), dtype)),
      reduce_scatter_(std::make_unique<MpiReduceScatter>(group, call, data, slices_, op)) {}

bool MpiLargeAllReduce::progress() {
  if (all_gather_ == nullptr) {
    if (!reduce_scatter_->progress()) return false;
    all_gather_ = std::make_unique<MpiAllGather>(group_, call_, data_, slices_);
  }
  return all_gather_->progress();
}

MpiBroadcast::MpiBroadcast(MpiGroup& group, const Call& call, std::span<std::byte> data, int root)
    : MpiOperation(group, call) {
  constexpr std::size_t largest_message = std::size_t{1} << 30;
  for (std::size_t offset = 0; offset < data.size(); offset += largest_message) {
    MPI_Request request = MPI_REQUEST_NULL;
    LOCKSTEP_MPI(MPI_Ibcast(data.data() + offset,
                            static_cast<int>(std::min(largest_message, data.size() - offset)), MPI_BYTE, root,
                            group.comm, &request));
    exchange_.add(request);
  }
}

MpiGather::MpiGather(MpiGroup& group, const Call& call, std::span<const std::byte> data,
                     std::span<std::byte> out, int root)
    : MpiOperation(group, call) {
  if (group.rank != root) {
    exchange_.send(data.data(), data.size(), root, tag_);
    return;
  }
  for (int r = 0; r < group.size; ++r) {
    std::byte* place = out.data() + static_cast<std::size_t>(r) * data.size();
    if (r != root) {
      exchange_.receive(place, data.size(), r, tag_);
    } else if (!data.empty()) {
      std::memmove(place, data.data(), data.size());
    }
  }
}

MpiBarrier::MpiBarrier(MpiGroup& group, const Call& call) : MpiOperation(group, call) {
  MPI_Request request = MPI_REQUEST_NULL;
  LOCKSTEP_MPI(MPI_Ibarrier(group.comm, &request));
  exchange_.add(request);
}

}  // namespace lockstep::comm
