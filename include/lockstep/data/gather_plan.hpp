// Who sends which elements to rank 0, in which order and in which chunk: a pure function of what every rank
// holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/data/state_view.hpp"

namespace lockstep {

// A run of elements of one entry as one rank holds it.
struct HeldRun {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};
// [rank][entry][extent]: all ranks' extents without their storage.
using HeldRuns = std::vector<std::vector<std::vector<HeldRun>>>;

// A rank's extents as numbers in a text of bytes: for each entry their count, then offset and length of each.
std::string pack_extents(const StateView& state);
// Collective: what every rank holds. The views' entries must be the same on all ranks.
HeldRuns held_runs(comm::Collectives& collectives, const StateView& state);

// Elements that one rank contributes, all from one of its extents.
struct Piece {
  std::uint32_t entry = 0;
  std::uint32_t rank = 0;
  std::uint32_t extent = 0;  // of that rank's entry
  std::uint64_t offset = 0;  // elements from the tensor's start
  std::uint64_t length = 0;  // elements
};

// The whole state as one stream, entry after entry, cut into chunks of at most `chunk_bytes`. Of the ranks
// that hold an element the lowest speaks.
class GatherPlan {
 public:
  GatherPlan() = default;
  // ContractError naming the entry: an extent outside the tensor, extents that overlap or descend, an element
  // that nobody holds. Every rank that computes this from the same runs throws the same.
  GatherPlan(std::span<const StateEntry> entries, const HeldRuns& held, std::size_t chunk_bytes);

  std::size_t chunks() const noexcept { return starts_.empty() ? 0 : starts_.size() - 1; }
  // In stream order.
  std::span<const Piece> chunk(std::size_t index) const noexcept;

 private:
  std::vector<Piece> pieces_;
  std::vector<std::size_t> starts_;  // of each chunk in pieces_, and the end
};

}  // namespace lockstep
