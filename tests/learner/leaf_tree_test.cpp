#include "lockstep/learner/leaf_tree.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lockstep/core/error.hpp"
#include "lockstep/core/reduction_tree.hpp"

namespace lockstep::learner {
namespace {

// The order of additions as text, by carrying out a rank's steps on names instead of numbers.
// The operand with the lower first leaf is written first, as both orders are the same sum.
std::string carry_out(const LeafTree& tree, std::size_t first_leaf,
                      const std::vector<std::size_t>& order = {}) {
  struct Sum {
    std::size_t first;
    std::string text;
  };
  const auto added = [](const Sum& a, const Sum& b) {
    return a.first < b.first ? Sum{a.first, "(" + a.text + "+" + b.text + ")"}
                             : Sum{b.first, "(" + b.text + "+" + a.text + ")"};
  };
  std::vector<Sum> slots(tree.slots());
  for (std::size_t i = 0; i < tree.leaves(); ++i) {
    const LeafTree::Step& step = tree.step(i);
    const std::size_t number = first_leaf + (order.empty() ? i : order[i]);
    const Sum leaf{number, std::to_string(number)};
    slots.at(step.slot) = step.add ? added(slots.at(step.slot), leaf) : leaf;
    for (const LeafTree::Merge& merge : step.merges)
      slots.at(merge.into) = added(slots.at(merge.into), slots.at(merge.from));
  }
  return slots[0].text;
}

std::string whole_tree(std::size_t leaves) {
  std::vector<std::string> partial(leaves);
  for (std::size_t i = 0; i < leaves; ++i) partial[i] = std::to_string(i);
  tree_combine(leaves, [&](std::size_t into, std::size_t from) {
    partial[into] = "(" + partial[into] + "+" + partial[from] + ")";
  });
  return partial[0];
}

TEST(LeafTree, OneRankFollowsTheTreeForAnyNumberOfLeaves) {
  for (std::size_t leaves = 1; leaves <= 48; ++leaves)
    EXPECT_EQ(carry_out(LeafTree(leaves, leaves), 0), whole_tree(leaves));
}

TEST(LeafTree, EightLeavesAreABinaryTree) {
  EXPECT_EQ(carry_out(LeafTree(8, 8), 0), "(((0+1)+(2+3))+((4+5)+(6+7)))");
}

TEST(LeafTree, TwelveLeavesAreThreeBlocksOfFour) {
  EXPECT_EQ(carry_out(LeafTree(12, 12), 0), "((((0+1)+(2+3))+((4+5)+(6+7)))+((8+9)+(10+11)))");
}

// The ranks' partial sums, combined by the same tree over ranks, are the whole tree.
TEST(LeafTree, RanksTogetherFollowTheTree) {
  for (const auto& [leaves, ranks] : std::vector<std::pair<std::size_t, std::size_t>>{
           {8, 1}, {8, 2}, {8, 4}, {8, 8}, {12, 3}, {12, 6}, {12, 12}, {48, 3}, {48, 6}, {48, 12}, {16, 4}}) {
    std::vector<std::string> partial(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      partial[rank] = carry_out(LeafTree(leaves, leaves / ranks), rank * leaves / ranks);
    tree_combine(ranks, [&](std::size_t into, std::size_t from) {
      partial[into] = "(" + partial[into] + "+" + partial[from] + ")";
    });
    EXPECT_EQ(partial[0], whole_tree(leaves)) << leaves << " leaves on " << ranks << " ranks";
  }
}

// Micro-batches come call by call: the first of every shard, then the second. The sums are those of the tree.
TEST(LeafTree, AnyOrderOfArrivalFollowsTheTree) {
  const std::vector<std::size_t> by_call{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11};
  const LeafTree tree(12, 12, by_call);
  EXPECT_EQ(carry_out(tree, 0, by_call), whole_tree(12));
  EXPECT_EQ(tree.slots(), 6u);
  const std::vector<std::size_t> backwards{7, 6, 5, 4, 3, 2, 1, 0};
  EXPECT_EQ(carry_out(LeafTree(8, 8, backwards), 0, backwards), whole_tree(8));
  EXPECT_THROW(LeafTree(4, 4, {0, 1, 1, 3}), ContractError);
}

TEST(LeafTree, KeepsLogarithmicallyManyPartialSums) {
  EXPECT_EQ(LeafTree(1, 1).slots(), 1u);
  EXPECT_EQ(LeafTree(2, 2).slots(), 1u);
  EXPECT_EQ(LeafTree(8, 8).slots(), 3u);
  EXPECT_EQ(LeafTree(64, 16).slots(), 4u);
}

TEST(LeafTree, RefusesPartsThatAreNoSubtree) {
  EXPECT_THROW(LeafTree(12, 6), ContractError);
  EXPECT_THROW(LeafTree(12, 3), ContractError);
  EXPECT_THROW(LeafTree(8, 3), ContractError);
  EXPECT_THROW(LeafTree(8, 0), ContractError);
}

}  // namespace
}  // namespace lockstep::learner
