#include "lockstep/data/state_map.hpp"

#include <ATen/ops/empty.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstring>

#include "lockstep/core/error.hpp"
#include "lockstep/data/gather.hpp"
#include "lockstep/data/gather_plan.hpp"
#include "lockstep/data/tensor_dtype.hpp"

namespace lockstep {
namespace {

constexpr std::size_t chunk_bytes = 4u << 20;
constexpr std::size_t names_shown = 5;

std::string listed(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), names_shown);
  const std::vector<std::string> first(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown));
  return fmt::format("{}{}", fmt::join(first, ", "),
                     names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "");
}

std::string described(at::ScalarType type, at::IntArrayRef shape) {
  return fmt::format("{} [{}]", to_string(dtype_of(type)), fmt::join(shape, ", "));
}

// Writes the part of [offset, offset + bytes.size() / width) that an extent holds.
void copy_into(const Extent& extent, std::uint64_t offset, std::span<const std::byte> bytes,
               std::size_t width) {
  const std::uint64_t begin = std::max(extent.offset, offset);
  const std::uint64_t end = std::min(extent.offset + extent.length, offset + bytes.size() / width);
  if (begin < end)
    std::memcpy(extent.data + (begin - extent.offset) * width, bytes.data() + (begin - offset) * width,
                (end - begin) * width);
}

// Hands an entry's bytes to all ranks, chunk after chunk.
void scatter_entry(comm::Collectives& collectives, const StateEntry& entry, const std::byte* full,
                   std::vector<std::byte>& chunk) {
  const std::size_t width = size_of(entry.dtype);
  const std::uint64_t step = chunk.size() / width;
  for (std::uint64_t at = 0; at < entry.elements(); at += step) {
    const std::span bytes(chunk.data(), std::min(step, entry.elements() - at) * width);
    if (full != nullptr) std::memcpy(bytes.data(), full + at * width, bytes.size());
    if (collectives.size() > 1) collectives.broadcast(bytes, 0).wait();
    for (const Extent& extent : entry.extents) copy_into(extent, at, bytes, width);
  }
}

}  // namespace

StateMap gather_state(comm::Collectives& collectives, const StateView& state) {
  StateMap map;
  if (collectives.rank() == 0)
    for (const StateEntry& entry : state.entries)
      map[entry.name] = at::empty(entry.shape, at::TensorOptions().dtype(scalar_type_of(entry.dtype)));
  const GatherPlan plan(state.entries, held_runs(collectives, state), chunk_bytes);
  const auto keep = [&](const Piece& piece, std::span<const std::byte> bytes) {
    const StateEntry& entry = state.entries[piece.entry];
    auto* into = static_cast<std::byte*>(map.at(entry.name).mutable_data_ptr());
    std::memcpy(into + piece.offset * size_of(entry.dtype), bytes.data(), bytes.size());
  };
  Gather(collectives, chunk_bytes).run(state, plan, keep, [] {});
  return map;
}

void check_state(const StateMap& map, const StateView& wanted) {
  std::vector<std::string> missing, unexpected, other;
  for (const StateEntry& entry : wanted.entries) {
    const auto found = map.find(entry.name);
    if (found == map.end()) {
      missing.push_back(entry.name);
    } else if (dtype_of(found->second.scalar_type()) != entry.dtype ||
               found->second.sizes() != at::IntArrayRef(entry.shape)) {
      other.push_back(fmt::format("{} is {}, wanted {} [{}]", entry.name,
                                  described(found->second.scalar_type(), found->second.sizes()),
                                  to_string(entry.dtype), fmt::join(entry.shape, ", ")));
    }
  }
  for (const auto& [name, tensor] : map)
    if (wanted.find(name) == nullptr) unexpected.push_back(name);
  std::vector<std::string> problems;
  if (!missing.empty()) problems.push_back("missing: " + listed(missing));
  if (!unexpected.empty()) problems.push_back("unexpected: " + listed(unexpected));
  if (!other.empty()) problems.push_back(listed(other));
  if (!problems.empty())
    throw InputError(fmt::format("the state does not fit: {}", fmt::join(problems, "; ")));
}

void scatter_state(comm::Collectives& collectives, const StateMap& map, const StateView& state) {
  std::vector<std::byte> chunk(chunk_bytes);
  for (const StateEntry& entry : state.entries) {
    std::array<std::byte, 1> here{std::byte{static_cast<unsigned char>(map.contains(entry.name))}};
    if (collectives.size() > 1) collectives.broadcast(here, 0).wait();
    if (here[0] == std::byte{0}) continue;
    const bool root = collectives.rank() == 0;
    const at::Tensor full = root ? map.at(entry.name).contiguous() : at::Tensor();
    scatter_entry(collectives, entry, root ? static_cast<const std::byte*>(full.const_data_ptr()) : nullptr,
                  chunk);
  }
}

}  // namespace lockstep
