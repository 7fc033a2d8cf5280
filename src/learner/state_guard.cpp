#include "state_guard.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <map>
#include <vector>

#include "lockstep/core/error.hpp"
#include "lockstep/core/hash.hpp"

namespace lockstep::learner {
namespace {

std::uint64_t first_half(const Hasher& hasher) {
  const Hash128 digest = hasher.digest();
  std::uint64_t half = 0;
  std::memcpy(&half, digest.bytes.data(), sizeof half);
  return half;
}

std::string listed(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

// Ranks whose hash is not that of the most; all of them where no hash has a majority.
std::vector<int> outvoted(const std::vector<std::int64_t>& hashes) {
  std::map<std::int64_t, std::size_t> votes;
  for (const std::int64_t hash : hashes) ++votes[hash];
  const auto most = std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
  const bool majority = 2 * most->second > hashes.size();
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < hashes.size(); ++rank)
    if (!majority || hashes[rank] != most->first) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

}  // namespace

StateGuard::Hashes StateGuard::hash(const StateView& state) const {
  Hasher own, shared;
  for (const StateEntry& entry : state.entries) {
    const bool alike = replicated_ && !entry.name.starts_with("training/optimizer/");
    for (const Extent& extent : entry.extents) {
      const std::span<const std::byte> bytes(extent.data, extent.length * size_of(entry.dtype));
      own.update(bytes);
      if (alike) shared.update(bytes);
    }
  }
  return {.own = first_half(own), .shared = first_half(shared)};
}

void StateGuard::remember(const StateView& state) {
  remembered_ = hash(state);
  armed_ = true;
}

void StateGuard::verify(const StateView& state) {
  if (!armed_) return;
  armed_ = false;
  const Hashes now = hash(state);
  const auto size = static_cast<std::size_t>(collectives_.size()),
             rank = static_cast<std::size_t>(collectives_.rank());
  // Each rank has two places of its own; a sum fills them in.
  std::vector<std::int64_t> told(2 * size, 0);
  told[rank] = now.own != remembered_.own ? 1 : 0;
  told[size + rank] = std::bit_cast<std::int64_t>(now.shared);
  if (size > 1) collectives_.all_reduce(told.data(), told.size(), Dtype::int64, comm::ReduceOp::sum).wait();

  std::vector<int> changed;
  for (std::size_t r = 0; r < size; ++r)
    if (told[r] != 0) changed.push_back(static_cast<int>(r));
  if (!changed.empty())
    throw NumericError(
        fmt::format("the parameters or optimizer state of {} changed between two steps, though nothing wrote "
                    "to them: a flipped "
                    "bit in memory; go on from the last checkpoint, without that node",
                    listed(changed)));
  const std::vector<std::int64_t> shared(told.begin() + static_cast<std::ptrdiff_t>(size), told.end());
  if (std::ranges::adjacent_find(shared, std::not_equal_to<>()) != shared.end())
    throw NumericError(
        fmt::format("the ranks hold different parameters after a step: {} against the others; go on from the "
                    "last checkpoint",
                    listed(outvoted(shared))));
}

}  // namespace lockstep::learner
