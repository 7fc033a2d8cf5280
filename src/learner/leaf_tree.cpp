#include "lockstep/learner/leaf_tree.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <bit>

#include "lockstep/core/error.hpp"
#include "lockstep/core/reduction_tree.hpp"

namespace lockstep::learner {

LeafTree::LeafTree(std::size_t total, std::size_t own) : own_(own) {
  if (own == 0 || total % own != 0 || !tree_splits(total, total / own))
    throw ContractError(
        fmt::format("{} of {} leaves are no whole part of the reduction tree; leaves a rank must be a "
                    "power of two that divides the total, or all of them",
                    own, total));
  block_ = own == total ? power_of_two_factor(total) : own;
  // One for each level of a block but the last, whose two halves meet as they arrive; one more for the
  // earlier blocks.
  const std::size_t levels = static_cast<std::size_t>(std::countr_zero(block_));
  slots_ = std::max<std::size_t>(levels + (own_ > block_ && block_ > 1 ? 1 : 0), 1);
}

LeafTree::Step LeafTree::step(std::size_t leaf) const noexcept {
  const std::size_t within = leaf % block_;
  // Partial sums waiting before this leaf: one for each set bit of the counter, and the sum of the earlier
  // blocks.
  const std::size_t waiting = std::popcount(within) + (leaf >= block_ ? 1 : 0);
  const bool block_ends = within == block_ - 1 && leaf >= block_;
  const std::size_t merges = std::countr_one(within) + (block_ends ? 1 : 0);
  // The first merge is done while the gradient arrives: it is added to the partial sum on top.
  if (merges > 0) return {.slot = waiting - 1, .add = true, .merges = merges - 1};
  return {.slot = waiting, .add = false, .merges = 0};
}

}  // namespace lockstep::learner
