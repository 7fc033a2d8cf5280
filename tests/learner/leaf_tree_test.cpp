#include "lockstep/learner/leaf_tree.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lockstep/core/error.hpp"
#include "lockstep/core/reduction_tree.hpp"

namespace lockstep::learner {
namespace {

// The order of additions as text, by carrying out a rank's steps on names instead of numbers.
std::string carry_out(const LeafTree& tree, std::size_t first_leaf) {
  std::vector<std::string> slots(tree.slots());
  for (std::size_t i = 0; i < tree.leaves(); ++i) {
    const LeafTree::Step step = tree.step(i);
    const std::string leaf = std::to_string(first_leaf + i);
    slots.at(step.slot) = step.add ? "(" + slots.at(step.slot) + "+" + leaf + ")" : leaf;
    for (std::size_t merged = 0; merged < step.merges; ++merged) {
      const std::size_t from = step.slot - merged;
      slots.at(from - 1) = "(" + slots.at(from - 1) + "+" + slots.at(from) + ")";
    }
  }
  return slots[0];
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
