#include "shared_memory_operations.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "combine.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::comm {
namespace {

// A part of something that is moved in chunks.
struct Chunk {
  std::size_t offset;
  std::size_t bytes;
};

// The `phase`-th chunk of `total` bytes; empty behind the end.
Chunk chunk_of(std::size_t total, std::size_t phase, std::size_t chunk) noexcept {
  const std::size_t offset = std::min(phase * chunk, total);
  return {offset, std::min(chunk, total - offset)};
}

// At least one: every collective is a meeting of all ranks, also when there is nothing to move.
std::size_t phases_for(std::size_t total, std::size_t chunk) noexcept {
  return std::max<std::size_t>((total + chunk - 1) / chunk, 1);
}

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace

bool SharedOperation::progress() {
  while (phase_ < phases_) {
    if (!posted_) {
      write(phase_);
      group_.post(mark_);
      posted_ = true;
    }
    if (!group_.all_arrived()) return false;
    read(phase_);
    posted_ = false;
    ++phase_;
  }
  return true;
}

void SharedOperation::check() {
  for (int r = 0; r < group_.size(); ++r) {
    // Asked again after the process was seen ended: it may have arrived last thing.
    if (!group_.arrived(r) && group_.peers().lost(r) && !group_.arrived(r)) {
      throw CommError(fmt::format("{} was lost while rank {} waited for it in {}", group_.peers().describe(r),
                                  group_.rank(), what_));
    }
  }
}

std::string SharedOperation::missing() {
  std::string text;
  for (int r = 0; r < group_.size(); ++r) {
    if (group_.arrived(r)) continue;
    if (!text.empty()) text += ", ";
    text += group_.peers().describe(r);
  }
  return text;
}

WindowReduceScatter::WindowReduceScatter(SharedMemoryGroup& group, const CallMark& mark, std::string what,
                                         Window window, Slices slices, ReduceOp op)
    : SharedOperation(group, mark, std::move(what), 1),
      window_(std::move(window)),
      slices_(std::move(slices)),
      op_(op) {}

void WindowReduceScatter::read(std::size_t) {
  const int own = group_.rank();
  std::vector<const std::byte*> contributions;
  contributions.reserve(static_cast<std::size_t>(group_.size()));
  for (int r = 0; r < group_.size(); ++r) contributions.push_back(window_.at(r) + slices_.begin(own));
  combine(contributions, window_.at(own) + slices_.begin(own), slices_.elements(own), slices_.dtype(), op_);
}

WindowAllGather::WindowAllGather(SharedMemoryGroup& group, const CallMark& mark, std::string what,
                                 Window window, Slices slices)
    : SharedOperation(group, mark, std::move(what), 1),
      window_(std::move(window)),
      slices_(std::move(slices)) {}

void WindowAllGather::read(std::size_t) {
  std::byte* own = window_.at(group_.rank());
  // Each rank starts behind itself, so that not all read the same peer at once.
  for (int step = 1; step < group_.size(); ++step) {
    const int r = (group_.rank() + step) % group_.size();
    copy_bytes(own + slices_.begin(r), window_.at(r) + slices_.begin(r), slices_.bytes(r));
  }
}

StagedReduceScatter::StagedReduceScatter(SharedMemoryGroup& group, const CallMark& mark, std::string what,
                                         std::byte* data, Slices slices, ReduceOp op)
    : SharedOperation(
          group, mark, std::move(what),
          phases_for(slices.largest(), group.slot_bytes() / static_cast<std::size_t>(group.size()))),
      data_(data),
      slices_(std::move(slices)),
      op_(op) {}

void StagedReduceScatter::write(std::size_t phase) {
  std::byte* slot = group_.slot_to_write();
  for (int r = 0; r < group_.size(); ++r) {
    if (r == group_.rank()) continue;
    const Chunk chunk = chunk_of(slices_.bytes(r), phase, piece());
    copy_bytes(slot + static_cast<std::size_t>(r) * piece(), data_ + slices_.begin(r) + chunk.offset,
               chunk.bytes);
  }
}

void StagedReduceScatter::read(std::size_t phase) {
  const int own = group_.rank();
  const Chunk chunk = chunk_of(slices_.bytes(own), phase, piece());
  std::byte* target = data_ + slices_.begin(own) + chunk.offset;
  std::vector<const std::byte*> contributions;
  contributions.reserve(static_cast<std::size_t>(group_.size()));
  for (int r = 0; r < group_.size(); ++r) {
    contributions.push_back(r == own ? target
                                     : group_.slot_to_read(r) + static_cast<std::size_t>(own) * piece());
  }
  combine(contributions, target, chunk.bytes / size_of(slices_.dtype()), slices_.dtype(), op_);
}

StagedAllGather::StagedAllGather(SharedMemoryGroup& group, const CallMark& mark, std::string what,
                                 std::byte* data, Slices slices)
    : SharedOperation(group, mark, std::move(what), phases_for(slices.largest(), group.slot_bytes())),
      data_(data),
      slices_(std::move(slices)) {}

void StagedAllGather::write(std::size_t phase) {
  const Chunk chunk = chunk_of(slices_.bytes(group_.rank()), phase, group_.slot_bytes());
  copy_bytes(group_.slot_to_write(), data_ + slices_.begin(group_.rank()) + chunk.offset, chunk.bytes);
}

void StagedAllGather::read(std::size_t phase) {
  for (int r = 0; r < group_.size(); ++r) {
    if (r == group_.rank()) continue;
    const Chunk chunk = chunk_of(slices_.bytes(r), phase, group_.slot_bytes());
    copy_bytes(data_ + slices_.begin(r) + chunk.offset, group_.slot_to_read(r), chunk.bytes);
  }
}

SmallAllReduce::SmallAllReduce(SharedMemoryGroup& group, const CallMark& mark, std::string what,
                               std::byte* data, std::size_t count, Dtype dtype, ReduceOp op)
    : SharedOperation(group, mark, std::move(what), 1), data_(data), count_(count), dtype_(dtype), op_(op) {}

void SmallAllReduce::write(std::size_t) {
  copy_bytes(group_.slot_to_write(), data_, count_ * size_of(dtype_));
}

void SmallAllReduce::read(std::size_t) {
  std::vector<const std::byte*> contributions;
  contributions.reserve(static_cast<std::size_t>(group_.size()));
  for (int r = 0; r < group_.size(); ++r) contributions.push_back(group_.slot_to_read(r));
  combine(contributions, data_, count_, dtype_, op_);
}

SharedBroadcast::SharedBroadcast(SharedMemoryGroup& group, const CallMark& mark, std::string what,
                                 std::span<std::byte> data, int root)
    : SharedOperation(group, mark, std::move(what), phases_for(data.size(), group.slot_bytes())),
      data_(data),
      root_(root) {}

void SharedBroadcast::write(std::size_t phase) {
  if (group_.rank() != root_) return;
  const Chunk chunk = chunk_of(data_.size(), phase, group_.slot_bytes());
  copy_bytes(group_.slot_to_write(), data_.data() + chunk.offset, chunk.bytes);
}

void SharedBroadcast::read(std::size_t phase) {
  if (group_.rank() == root_) return;
  const Chunk chunk = chunk_of(data_.size(), phase, group_.slot_bytes());
  copy_bytes(data_.data() + chunk.offset, group_.slot_to_read(root_), chunk.bytes);
}

SharedGather::SharedGather(SharedMemoryGroup& group, const CallMark& mark, std::string what,
                           std::span<const std::byte> data, std::span<std::byte> out, int root)
    : SharedOperation(group, mark, std::move(what), phases_for(data.size(), group.slot_bytes())),
      data_(data),
      out_(out),
      root_(root) {}

void SharedGather::write(std::size_t phase) {
  const Chunk chunk = chunk_of(data_.size(), phase, group_.slot_bytes());
  copy_bytes(group_.slot_to_write(), data_.data() + chunk.offset, chunk.bytes);
}

void SharedGather::read(std::size_t phase) {
  if (group_.rank() != root_) return;
  const Chunk chunk = chunk_of(data_.size(), phase, group_.slot_bytes());
  for (int r = 0; r < group_.size(); ++r) {
    copy_bytes(out_.data() + static_cast<std::size_t>(r) * data_.size() + chunk.offset,
               group_.slot_to_read(r), chunk.bytes);
  }
}

bool SequenceOperation::progress() {
  if (first_ != nullptr) {
    if (!first_->progress()) return false;
    first_.reset();
  }
  return second_->progress();
}

}  // namespace lockstep::comm
