#include "lockstep/rollout/priority_tree.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "lockstep/core/error.hpp"
#include "lockstep/core/random.hpp"
#include "support/reference.hpp"

namespace lockstep::rollout {
namespace {

using test::ReferenceFile;

std::vector<std::string> groups_of_file() {
  std::vector<std::string> found;
  for (const std::string& group : ReferenceFile("torchrl_losses.h5").groups()) {
    if (group.starts_with("per")) found.push_back(group);
  }
  return found;
}

PriorityTree filled(const std::vector<double>& priorities, const PriorityOptions& options = {}) {
  PriorityTree tree(static_cast<std::int64_t>(priorities.size()), options);
  for (std::int64_t row = 0; row < tree.capacity(); ++row) {
    tree.add(row);
    tree.set(row, priorities[static_cast<std::size_t>(row)]);
  }
  return tree;
}

TEST(PriorityTree, AgreesWithTorchRl) {
  const ReferenceFile file("torchrl_losses.h5");
  const auto groups = groups_of_file();
  ASSERT_FALSE(groups.empty());
  for (const std::string& group : groups) {
    const PriorityTree tree =
        filled(file.doubles(group + "/priority").values,
               {.alpha = file.number(group, "alpha"), .epsilon = file.number(group, "epsilon")});
    const auto leaves = file.doubles(group + "/tree").values,
               weights = file.doubles(group + "/weight_all").values;
    const auto bounds = tree.bounds();
    ASSERT_EQ(static_cast<std::int64_t>(leaves.size()), tree.capacity());
    for (std::int64_t row = 0; row < tree.capacity(); ++row) {
      const double leaf = leaves[static_cast<std::size_t>(row)],
                   weight = weights[static_cast<std::size_t>(row)];
      const double beta = file.number(group, "beta");
      EXPECT_NEAR(tree.leaf(row), leaf, 1e-6 * leaf);
      EXPECT_NEAR(tree.weight(row, beta), weight, 1e-6 * weight);
      EXPECT_NEAR(tree.weight(row, beta, bounds.smallest / bounds.sum), weight, 1e-6 * weight);
    }
    const auto masses = file.doubles(group + "/mass").values;
    const auto rows = file.integers(group + "/index").values;
    for (std::size_t i = 0; i < masses.size(); ++i) EXPECT_EQ(tree.row_at(masses[i]), rows[i]) << masses[i];
  }
}

std::vector<double> random_priorities(std::int64_t rows) {
  RandomStream stream(3, StreamId::test, 70);
  std::vector<double> priorities(static_cast<std::size_t>(rows));
  for (double& priority : priorities) priority = 5 * stream.uniform();
  return priorities;
}

TEST(PriorityTree, FindsTheSmallestRowWhosePrefixReachesTheMass) {
  for (const std::int64_t rows : {1, 2, 3, 7, 8, 100}) {
    const PriorityTree tree = filled(random_priorities(rows));
    double prefix = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      const double leaf = tree.leaf(row);
      EXPECT_EQ(tree.row_at(prefix + leaf / 2), row);
      prefix += leaf;
    }
    EXPECT_NEAR(tree.sum(), prefix, 1e-12 * prefix);
    EXPECT_EQ(tree.row_at(0), 0);
    EXPECT_EQ(tree.row_at(tree.sum()), rows - 1);
  }
}

TEST(PriorityTree, AMassOnABorderBelongsToTheRowThatReachesIt) {
  // alpha 1 and priorities that float32 holds exactly: leaves are 1, 2, 4, 8 but for epsilon, which is lost.
  const PriorityTree tree = filled({1, 2, 4, 8}, {.alpha = 1});
  EXPECT_EQ(tree.row_at(1), 0);
  EXPECT_EQ(tree.row_at(std::nextafter(1.0, 2.0)), 1);
  EXPECT_EQ(tree.row_at(3), 1);
  EXPECT_EQ(tree.row_at(7), 2);
  EXPECT_EQ(tree.row_at(7.5), 3);
}

TEST(PriorityTree, DrawsRowsInProportion) {
  const PriorityTree tree = filled({1, 0, 3}, {.alpha = 1});
  RandomStream stream(4, StreamId::test, 71);
  std::array<int, 3> count{};
  for (int i = 0; i < 40000; ++i)
    ++count.at(static_cast<std::size_t>(tree.row_at(stream.uniform(0, tree.sum()))));
  EXPECT_NEAR(count[0], 10000, 300);
  EXPECT_EQ(count[1], 0);
  EXPECT_NEAR(count[2], 30000, 300);
}

TEST(PriorityTree, RowsNotPresentAreNeverDrawn) {
  PriorityTree tree(6, {});
  tree.add(2);
  tree.add(4);
  EXPECT_EQ(tree.present(), 2);
  EXPECT_EQ(tree.row_at(0), 2);
  EXPECT_EQ(tree.row_at(tree.sum()), 4);
  EXPECT_EQ(tree.leaf(3), 0.0F);
  EXPECT_EQ(tree.bounds().smallest, tree.leaf(2));
}

TEST(PriorityTree, NewRowsGetTheLargestPrioritySoFarOrPresent) {
  for (const bool present : {false, true}) {
    PriorityTree tree(3, {.alpha = 1, .largest_present = present});
    tree.add(0);
    EXPECT_EQ(tree.leaf(0), 1.0F) << "the first row's";
    tree.set(0, 0.25);
    tree.add(1);
    EXPECT_EQ(tree.leaf(1), 0.25F);
    tree.set(0, 8);
    tree.set(0, 0.5);
    tree.add(2);
    EXPECT_EQ(tree.leaf(2), present ? 0.5F : 8.0F);
  }
}

TEST(PriorityTree, TheOrderOfWritingChangesNoBit) {
  const auto priorities = random_priorities(37);
  const PriorityTree forward = filled(priorities);
  PriorityTree backward(37, {});
  for (std::int64_t row = 36; row >= 0; --row) backward.add(row);
  for (const double other : {4.0, 0.1}) {
    for (std::int64_t row = 0; row < 37; ++row) backward.set(row, other);
  }
  std::vector<std::int64_t> rows(37);
  std::iota(rows.rbegin(), rows.rend(), 0);
  std::vector<double> reversed(priorities.rbegin(), priorities.rend());
  backward.set(rows, reversed);
  EXPECT_EQ(forward.sum(), backward.sum());
  EXPECT_EQ(forward.bounds().smallest, backward.bounds().smallest);
}

TEST(PriorityTree, RestoresToTheSameBits) {
  for (const bool present : {false, true}) {
    PriorityTree tree(9, {.largest_present = present});
    for (std::int64_t row = 0; row < 5; ++row) {
      tree.add(row);
      tree.set(row, 0.3 * static_cast<double>(row + 1));
    }
    tree.set(4, 0.1);
    PriorityTree copy(9, {.largest_present = present});
    copy.add(8);
    copy.restore(tree.priorities(), tree.largest_so_far());
    EXPECT_EQ(copy.sum(), tree.sum());
    EXPECT_EQ(copy.present(), 5);
    EXPECT_EQ(copy.bounds().smallest, tree.bounds().smallest);
    EXPECT_EQ(copy.largest_priority(), tree.largest_priority());
    EXPECT_EQ(copy.leaf(8), 0.0F);
    EXPECT_THROW(copy.restore(std::vector<double>(8), 1), ContractError);
  }
}

// Rows are drawn evenly from each of two shards, in proportion within it: the chance of a row is
// leaf / (2 sum of its shard), and the weight's base the ratio to the least chance of all.
TEST(PriorityTree, WeightsOfSeveralShardsUndoTheirChances) {
  const PriorityTree a = filled({1, 3}, {.alpha = 1}), b = filled({2, 2, 12}, {.alpha = 1});
  const double least = std::min(a.bounds().smallest / a.bounds().sum, b.bounds().smallest / b.bounds().sum);
  EXPECT_NEAR(least, 2.0 / 16, 1e-7);
  EXPECT_NEAR(a.weight(0, 1.0, least), (2.0 / 16) / (1.0 / 4), 1e-6);
  EXPECT_NEAR(a.weight(1, 0.5, least), std::sqrt((2.0 / 16) / (3.0 / 4)), 1e-6);
  EXPECT_NEAR(b.weight(0, 1.0, least), 1.0, 1e-6);
  EXPECT_NEAR(b.weight(2, 1.0, least), 2.0 / 12, 1e-6);
}

TEST(PriorityTree, RefusesBadPrioritiesAndRows) {
  PriorityTree tree(4, {});
  EXPECT_THROW(tree.row_at(0), ContractError) << "empty";
  tree.add(0);
  for (const double bad :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e300}) {
    EXPECT_THROW(tree.set(0, bad), NumericError) << bad;
  }
  EXPECT_EQ(tree.leaf(0), 1.0F) << "a refused priority changes nothing";
  EXPECT_THROW(tree.set(1, 1.0), ContractError) << "never added";
  EXPECT_THROW(tree.add(4), ContractError);
  EXPECT_THROW(tree.add(-1), ContractError);
  EXPECT_THROW(tree.row_at(tree.sum() * 1.01), ContractError);
  EXPECT_THROW(tree.row_at(-0.1), ContractError);
  EXPECT_THROW(PriorityTree(0, {}), ContractError);
  EXPECT_THROW(PriorityTree(4, {.alpha = 1.5}), ContractError);
  EXPECT_THROW(PriorityTree(4, {.epsilon = 0}), ContractError);
  tree.set(0, 0.0);
  EXPECT_GT(tree.leaf(0), 0.0F) << "a present row can always be drawn";
}

}  // namespace
}  // namespace lockstep::rollout
