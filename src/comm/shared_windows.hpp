// Private: memory that every rank of a node maps from every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/staging/buffer.hpp"

namespace lockstep::comm {

// One segment a rank, equal in size, each made by its own rank (so its pages lie near it) and mapped by all.
class SymmetricSegments {
 public:
  // Collective over `bootstrap`. The segments have no name in /dev/shm any more when this returns. When any
  // rank finds no room or cannot map a peer's, null on all ranks, and `problem` says why.
  static std::shared_ptr<SymmetricSegments> make(Collectives& bootstrap, const std::string& name,
                                                 std::size_t bytes, std::string& problem);

  std::byte* base(int rank) const noexcept { return segments_[static_cast<std::size_t>(rank)].data(); }
  std::size_t size() const noexcept { return segments_.front().size(); }

 private:
  std::vector<staging::SharedSegment> segments_;  // by rank
};

// Removes names that a job left when it was killed while its ranks were opening each other's segments. Names
// live for milliseconds: one of ours that is ten minutes old belongs to nobody.
void sweep_remnants() noexcept;

// A place inside symmetric segments, the same on every rank.
struct Window {
  std::shared_ptr<SymmetricSegments> segments;
  std::uint64_t allocation = 0;  // 1 for the first; 0: not in a window
  std::size_t offset = 0;

  explicit operator bool() const noexcept { return segments != nullptr; }
  std::byte* at(int rank) const noexcept { return segments->base(rank) + offset; }
};

// The windows that allocate() made and someone still holds.
class WindowTable {
 public:
  explicit WindowTable(int rank) : rank_(rank) {}
  void add(const std::shared_ptr<SymmetricSegments>& segments);
  std::uint64_t allocations() const noexcept { return allocations_; }
  // The window that holds all of [data, data + bytes); an empty one when none does.
  Window find(const void* data, std::size_t bytes) const;

 private:
  struct Entry {
    std::uint64_t allocation;
    std::weak_ptr<SymmetricSegments> segments;
  };
  int rank_;
  std::uint64_t allocations_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace lockstep::comm
