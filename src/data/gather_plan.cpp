#include "lockstep/data/gather_plan.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "lockstep/core/error.hpp"

namespace lockstep {
namespace {

struct Gap {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

void check_runs(const StateEntry& entry, std::size_t rank, std::span<const HeldRun> runs) {
  const std::uint64_t elements = entry.elements();
  std::uint64_t end = 0;
  for (const HeldRun& run : runs) {
    if (run.offset > elements || run.length > elements - run.offset) {
      throw ContractError(fmt::format("state entry {}: rank {} holds elements {} to {}, the tensor has {}",
                                      entry.name, rank, run.offset, run.offset + run.length, elements));
    }
    if (run.offset < end) {
      throw ContractError(fmt::format("state entry {}: rank {}'s extents overlap or descend at element {}",
                                      entry.name, rank, run.offset));
    }
    end = run.offset + run.length;
  }
}

// Takes the parts of a rank's runs that no lower rank holds: they become pieces, the gaps shrink. Both lists
// ascend.
std::vector<Gap> fill(std::span<const Gap> gaps, std::span<const HeldRun> runs, Piece piece,
                      std::vector<Piece>& pieces) {
  std::vector<Gap> left;
  std::size_t extent = 0;
  for (Gap gap : gaps) {
    while (extent < runs.size() && runs[extent].offset + runs[extent].length <= gap.begin) ++extent;
    for (std::size_t i = extent; i < runs.size() && runs[i].offset < gap.end; ++i) {
      const std::uint64_t begin = std::max(gap.begin, runs[i].offset);
      const std::uint64_t end = std::min(gap.end, runs[i].offset + runs[i].length);
      if (begin >= end) continue;
      if (begin > gap.begin) left.push_back({gap.begin, begin});
      piece.extent = static_cast<std::uint32_t>(i);
      piece.offset = begin;
      piece.length = end - begin;
      pieces.push_back(piece);
      gap.begin = end;
    }
    if (gap.begin < gap.end) left.push_back(gap);
  }
  return left;
}

// One entry's pieces in ascending order.
std::vector<Piece> assign(const StateEntry& entry, std::uint32_t index, const HeldRuns& held) {
  std::vector<Piece> pieces;
  std::vector<Gap> gaps;
  if (entry.elements() > 0) gaps.push_back({0, entry.elements()});
  for (std::size_t rank = 0; rank < held.size(); ++rank) {
    const auto& runs = held[rank][index];
    check_runs(entry, rank, runs);
    if (!gaps.empty())
      gaps = fill(gaps, runs, {.entry = index, .rank = static_cast<std::uint32_t>(rank)}, pieces);
  }
  if (!gaps.empty()) {
    throw ContractError(fmt::format("state entry {}: no rank holds elements {} to {} of {}", entry.name,
                                    gaps.front().begin, gaps.front().end, entry.elements()));
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.offset < b.offset; });
  return pieces;
}

void append_number(std::string& text, std::uint64_t number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::uint64_t take_number(std::string_view& text) {
  std::uint64_t number = 0;
  if (text.size() < sizeof number) throw ContractError("a rank's list of extents ends early");
  std::memcpy(&number, text.data(), sizeof number);
  text.remove_prefix(sizeof number);
  return number;
}

std::vector<std::vector<HeldRun>> unpack_extents(std::string_view text, std::size_t entries) {
  std::vector<std::vector<HeldRun>> runs(entries);
  for (auto& of_entry : runs) {
    for (std::uint64_t left = take_number(text); left > 0; --left) {
      const std::uint64_t offset = take_number(text);
      of_entry.push_back({offset, take_number(text)});
    }
  }
  return runs;
}

}  // namespace

std::string pack_extents(const StateView& state) {
  std::string text;
  for (const StateEntry& entry : state.entries) {
    append_number(text, entry.extents.size());
    for (const Extent& extent : entry.extents) {
      append_number(text, extent.offset);
      append_number(text, extent.length);
    }
  }
  return text;
}

HeldRuns held_runs(comm::Collectives& collectives, const StateView& state) {
  HeldRuns held;
  for (const std::string& text : comm::all_gather_text(collectives, pack_extents(state)))
    held.push_back(unpack_extents(text, state.entries.size()));
  return held;
}

GatherPlan::GatherPlan(std::span<const StateEntry> entries, const HeldRuns& held, std::size_t chunk_bytes) {
  std::size_t room = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t width = size_of(entries[i].dtype);
    for (Piece piece : assign(entries[i], static_cast<std::uint32_t>(i), held)) {
      // A piece that does not fit goes on in the next chunk.
      while (piece.length > 0) {
        if (room < width) {
          starts_.push_back(pieces_.size());
          room = chunk_bytes;
        }
        Piece part = piece;
        part.length = std::min<std::uint64_t>(piece.length, room / width);
        pieces_.push_back(part);
        piece.offset += part.length;
        piece.length -= part.length;
        room -= part.length * width;
      }
    }
  }
  if (!starts_.empty()) starts_.push_back(pieces_.size());
}

std::span<const Piece> GatherPlan::chunk(std::size_t index) const noexcept {
  return std::span(pieces_).subspan(starts_[index], starts_[index + 1] - starts_[index]);
}

}  // namespace lockstep
