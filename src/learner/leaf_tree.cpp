#include "lockstep/learner/leaf_tree.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "lockstep/core/error.hpp"
#include "lockstep/core/reduction_tree.hpp"

namespace lockstep::learner {
namespace {

// A subtree whose leaves are summed: those of [begin, begin + size).
struct Node {
  std::size_t begin = 0, size = 0;
  auto operator<=>(const Node&) const = default;
};

// Plays the arrivals through, and notes what was done at each.
class Arrivals {
 public:
  explicit Arrivals(std::size_t block) : block_(block) {}

  LeafTree::Step arrive(std::size_t leaf) {
    Node node{leaf, 1};
    LeafTree::Step step;
    // The first merge is done while the gradient arrives: it is added to the partial sum that waits for it.
    if (const auto partner = take_partner(node)) {
      step = {.slot = *partner, .add = true};
      node = joined_;
    } else {
      step = {.slot = free_slot(), .add = false};
    }
    std::size_t slot = step.slot;
    while (const auto partner = take_partner(node)) {
      const std::size_t into = std::min(slot, *partner);
      step.merges.push_back({.from = std::max(slot, *partner), .into = into});
      slot = into;
      node = joined_;
    }
    waiting_[node] = slot;
    return step;
  }

  std::size_t slots() const { return slots_; }

 private:
  // The slot of the waiting sum that `node` is next combined with, taken out; the two together are `joined_`.
  std::optional<std::size_t> take_partner(const Node& node) {
    if (node.size < block_) {
      const Node sibling{node.begin ^ node.size, node.size};
      joined_ = {std::min(node.begin, sibling.begin), 2 * node.size};
      return take(sibling);
    }
    // Whole blocks, from left to right: the sum of all earlier ones, then the next one.
    if (node.begin > 0) {
      joined_ = {0, node.begin + node.size};
      return take({0, node.begin});
    }
    joined_ = {0, node.size + block_};
    return take({node.size, block_});
  }

  std::optional<std::size_t> take(const Node& node) {
    const auto found = waiting_.find(node);
    if (found == waiting_.end()) return std::nullopt;
    const std::size_t slot = found->second;
    waiting_.erase(found);
    return slot;
  }

  std::size_t free_slot() {
    std::size_t slot = 0;
    while (std::ranges::any_of(waiting_, [&](const auto& held) { return held.second == slot; })) ++slot;
    slots_ = std::max(slots_, slot + 1);
    return slot;
  }

  std::size_t block_;  // leaves combined by the binary part of the tree
  std::size_t slots_ = 1;
  Node joined_;
  std::map<Node, std::size_t> waiting_;  // sums and their slots
};

std::vector<std::size_t> ascending(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

}  // namespace

LeafTree::LeafTree(std::size_t total, std::size_t own) : LeafTree(total, own, ascending(own)) {}

LeafTree::LeafTree(std::size_t total, std::size_t own, const std::vector<std::size_t>& order) {
  if (own == 0 || total % own != 0 || !tree_splits(total, total / own))
    throw ContractError(
        fmt::format("{} of {} leaves are no whole part of the reduction tree; leaves a rank must be a "
                    "power of two that divides the total, or all of them",
                    own, total));
  if (!std::ranges::is_permutation(order, ascending(own)))
    throw ContractError(fmt::format("an order of {} leaves must name each of them once", own));
  Arrivals arrivals(own == total ? power_of_two_factor(total) : own);
  for (const std::size_t leaf : order) steps_.push_back(arrivals.arrive(leaf));
  slots_ = arrivals.slots();
}

}  // namespace lockstep::learner
