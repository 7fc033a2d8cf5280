#include "lockstep/learner/sharding_plan.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace lockstep::learner {
namespace {

ParameterSpec spec(std::vector<std::int64_t> shape, std::size_t group = 0, Dtype dtype = Dtype::float32) {
  return {.name = "p", .shape = std::move(shape), .dtype = dtype, .group = group};
}

std::vector<ParameterSpec> odd_sizes() {
  return {spec({3, 5}), spec({}), spec({0}), spec({1021}), spec({4097}), spec({7, 300})};
}

TEST(ShardingPlan, StartsAreAlignedAndPaddingIsSmall) {
  const ShardingPlan plan = make_plan(odd_sizes(), 4, 1 << 20);
  ASSERT_EQ(plan.buffers.size(), 1u);
  std::size_t end = 0;
  for (const Placement& place : plan.buffers[0].placements) {
    EXPECT_EQ(place.offset % alignment_elements, 0u);
    EXPECT_EQ(place.offset, end);
    end = (place.offset + place.elements + alignment_elements - 1) / alignment_elements * alignment_elements;
  }
  EXPECT_EQ(plan.buffers[0].elements, end);
  EXPECT_NEAR(plan.padding_share(), 1.0 - 7234.0 / static_cast<double>(end), 1e-12);
}

TEST(ShardingPlan, LargeModelsHaveLessThanOnePercentOfPadding) {
  std::vector<ParameterSpec> specs;
  for (int layer = 0; layer < 40; ++layer) specs.insert(specs.end(), {spec({161, 163}), spec({161})});
  EXPECT_LT(make_plan(specs, 8, 25 << 20).padding_share(), 0.01);
}

// Parts cover every element once, in order, and begin at block borders, on any number of ranks and for any
// bucket size.
TEST(ShardingPlan, PartsCoverEveryElementOnceAtBlockBorders) {
  for (const std::size_t ranks : {1u, 2u, 3u, 4u, 8u, 33u})
    for (const std::size_t bucket_bytes : {4u, 4096u, 20000u, 1u << 20}) {
      const ShardingPlan plan = make_plan(odd_sizes(), ranks, bucket_bytes);
      const FlatBuffer& buffer = plan.buffers[0];
      std::size_t at = 0, seen = 0;
      for (const Bucket& bucket : buffer.buckets) {
        EXPECT_EQ(bucket.begin, at);
        at = bucket.end;
        ASSERT_EQ(bucket.cuts.size(), ranks + 1);
        EXPECT_EQ(bucket.cuts.front(), 0u);
        EXPECT_EQ(bucket.cuts.back(), bucket.end - bucket.begin);
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          ASSERT_LE(bucket.cuts[rank], bucket.cuts[rank + 1]);
          for (const Block& block : blocks_within(buffer, bucket.begin + bucket.cuts[rank],
                                                  bucket.begin + bucket.cuts[rank + 1])) {
            EXPECT_EQ(block.offset % alignment_elements, 0u);
            EXPECT_LE(block.elements, block_elements);
            seen += block.elements;
          }
        }
      }
      EXPECT_EQ(at, buffer.elements);
      EXPECT_EQ(seen, 7234u);
    }
}

// The blocks, and so the norm's partial sums, are the same on any number of ranks.
TEST(ShardingPlan, BlocksDoNotDependOnRanks) {
  const auto blocks_of = [](std::size_t ranks) {
    const ShardingPlan plan = make_plan(odd_sizes(), ranks, 8192);
    std::vector<std::pair<std::size_t, std::size_t>> blocks;
    for (const Bucket& bucket : plan.buffers[0].buckets)
      for (std::size_t rank = 0; rank < ranks; ++rank)
        for (const Block& block : blocks_within(plan.buffers[0], bucket.begin + bucket.cuts[rank],
                                                bucket.begin + bucket.cuts[rank + 1]))
          blocks.emplace_back(block.offset, block.elements);
    return blocks;
  };
  EXPECT_EQ(blocks_of(1), blocks_of(2));
  EXPECT_EQ(blocks_of(1), blocks_of(8));
}

TEST(ShardingPlan, GroupsAndTypesHaveBuffersOfTheirOwn) {
  const ShardingPlan plan =
      make_plan({spec({10}), spec({10}, 1), spec({10}, 0, Dtype::float64), spec({20})}, 2, 1 << 20);
  ASSERT_EQ(plan.buffers.size(), 3u);
  EXPECT_EQ(plan.buffers[0].placements.size(), 2u);
  EXPECT_EQ(plan.buffers[1].group, 1u);
  EXPECT_EQ(plan.buffers[2].dtype, Dtype::float64);
}

TEST(ShardingPlan, SharesAreEvenWhereBlocksAllow) {
  const ShardingPlan plan = make_plan({spec({1024, 1024})}, 4, 64 << 20);
  EXPECT_EQ(plan.buffers[0].buckets[0].cuts, (std::vector<std::size_t>{0, 262144, 524288, 786432, 1048576}));
}

TEST(ShardingPlan, BucketsStayBelowTheLimitUnlessOneParameterIsLarger) {
  const ShardingPlan plan = make_plan({spec({1000}), spec({1000}), spec({5000}), spec({16})}, 2, 8192);
  for (const Bucket& bucket : plan.buffers[0].buckets) EXPECT_LE(bucket.end - bucket.begin, 5008u);
  EXPECT_EQ(plan.buffers[0].buckets.size(), 3u);
}

}  // namespace
}  // namespace lockstep::learner
