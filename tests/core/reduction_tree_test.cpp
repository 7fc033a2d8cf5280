#include "lockstep/core/reduction_tree.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep {
namespace {

// The tree over n leaves, written with its parentheses.
std::string tree(std::size_t n) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(std::to_string(i));
  tree_combine(n, [&](std::size_t into, std::size_t from) {
    values[into] = "(" + values[into] + "+" + values[from] + ")";
  });
  return values[0];
}

TEST(ReductionTree, IsBinaryInsideTheFactorOfTwoAndLeftToRightOverTheRest) {
  EXPECT_EQ(tree(1), "0");
  EXPECT_EQ(tree(2), "(0+1)");
  EXPECT_EQ(tree(3), "((0+1)+2)");
  EXPECT_EQ(tree(4), "((0+1)+(2+3))");
  EXPECT_EQ(tree(6), "(((0+1)+(2+3))+(4+5))");
  EXPECT_EQ(tree(8), "(((0+1)+(2+3))+((4+5)+(6+7)))");
}

// A rank that combines its own leaves first, and the ranks then among themselves, must make the same tree.
TEST(ReductionTree, IsTheSameWhoeverOwnsTheLeaves) {
  for (std::size_t leaves = 1; leaves <= 48; ++leaves) {
    for (std::size_t ranks = 1; ranks <= leaves; ++ranks) {
      if (leaves % ranks != 0 || !tree_splits(leaves, ranks)) continue;
      const std::size_t own = leaves / ranks;
      std::vector<std::string> values;
      for (std::size_t i = 0; i < leaves; ++i) values.push_back(std::to_string(i));
      const auto add = [&](std::size_t into, std::size_t from) {
        values[into] = "(" + values[into] + "+" + values[from] + ")";
      };
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        tree_combine(own, [&](std::size_t i, std::size_t j) { add(rank * own + i, rank * own + j); });
      }
      tree_combine(ranks, [&](std::size_t i, std::size_t j) { add(i * own, j * own); });
      EXPECT_EQ(values[0], tree(leaves)) << leaves << " leaves on " << ranks << " ranks";
    }
  }
}

TEST(ReductionTree, SplitsAsTheDesignSays) {
  for (const std::size_t ranks : {1, 2, 4, 8}) EXPECT_TRUE(tree_splits(8, ranks)) << ranks;
  for (const std::size_t ranks : {1, 3, 6, 12, 24, 48}) EXPECT_TRUE(tree_splits(48, ranks)) << ranks;
  for (const std::size_t ranks : {2, 4, 8, 16, 5}) EXPECT_FALSE(tree_splits(48, ranks)) << ranks;
}

}  // namespace
}  // namespace lockstep
