#include "lockstep/data/gather_plan.hpp"

#include <gmock/gmock.h>

#include "lockstep/core/error.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;

StateEntry entry(std::string name, std::int64_t elements, Dtype dtype = Dtype::float32) {
  return {std::move(name), dtype, {elements}, {}};
}

// rank:offset+length of every piece, chunks parted by '|'.
std::string text_of(const GatherPlan& plan) {
  std::string text;
  for (std::size_t chunk = 0; chunk < plan.chunks(); ++chunk) {
    if (chunk > 0) text += "| ";
    for (const Piece& piece : plan.chunk(chunk)) {
      text += std::to_string(piece.entry) + "@" + std::to_string(piece.rank) + ":" +
              std::to_string(piece.offset) + "+" + std::to_string(piece.length) + " ";
    }
  }
  return text;
}

TEST(GatherPlan, TheLowestRankSpeaksForReplicas) {
  const std::vector<StateEntry> entries{entry("model/a", 10)};
  EXPECT_EQ(text_of(GatherPlan(entries, {{{{0, 10}}}, {{{0, 10}}}, {{{0, 10}}}}, 64)), "0@0:0+10 ");
}

TEST(GatherPlan, OverlapsGoToTheLowerRank) {
  const std::vector<StateEntry> entries{entry("model/a", 10)};
  EXPECT_EQ(text_of(GatherPlan(entries, {{{{2, 3}, {7, 1}}}, {{{0, 10}}}}, 64)),
            "0@1:0+2 0@0:2+3 0@1:5+2 0@0:7+1 0@1:8+2 ");
}

TEST(GatherPlan, KnowsWhichExtentAPieceComesFrom) {
  const std::vector<StateEntry> entries{entry("model/a", 6)};
  const GatherPlan plan(entries, {{{{4, 2}}}, {{{0, 1}, {1, 0}, {1, 3}}}}, 64);
  ASSERT_EQ(plan.chunks(), 1);
  EXPECT_EQ(text_of(plan), "0@1:0+1 0@1:1+3 0@0:4+2 ");
  EXPECT_EQ(plan.chunk(0)[0].extent, 0);
  EXPECT_EQ(plan.chunk(0)[1].extent, 2);
  EXPECT_EQ(plan.chunk(0)[2].extent, 0);
}

TEST(GatherPlan, CutsAtChunksAndPacksSmallEntries) {
  const std::vector<StateEntry> entries{entry("model/a", 3), entry("model/none", 0), entry("model/b", 20),
                                        entry("model/c", 1, Dtype::float64)};
  EXPECT_EQ(text_of(GatherPlan(entries, {{{{0, 3}}, {}, {{0, 20}}, {{0, 1}}}}, 64)),
            "0@0:0+3 2@0:0+13 | 2@0:13+7 3@0:0+1 ");
}

TEST(GatherPlan, NeverCutsAnElement) {
  const std::vector<StateEntry> entries{entry("model/a", 1, Dtype::uint8),
                                        entry("model/b", 16, Dtype::float64)};
  EXPECT_EQ(text_of(GatherPlan(entries, {{{{0, 1}}, {{0, 16}}}}, 64)),
            "0@0:0+1 1@0:0+7 | 1@0:7+8 | 1@0:15+1 ");
}

TEST(GatherPlan, ThousandsOfTinyEntriesShareChunks) {
  std::vector<StateEntry> entries;
  std::vector<std::vector<HeldRun>> runs;
  for (int i = 0; i < 5000; ++i) {
    entries.push_back(entry("model/" + std::to_string(i), 2));
    runs.push_back({{0, 2}});
  }
  EXPECT_EQ(GatherPlan(entries, {runs}, 4096).chunks(), 10);
}

TEST(GatherPlan, NothingToGatherIsNoChunk) {
  EXPECT_EQ(GatherPlan({}, {{}, {}}, 64).chunks(), 0);
  const std::vector<StateEntry> entries{entry("model/none", 0)};
  EXPECT_EQ(GatherPlan(entries, {{{}}}, 64).chunks(), 0);
}

TEST(GatherPlan, NamesAnElementThatNobodyHolds) {
  const std::vector<StateEntry> entries{entry("model/a", 4), entry("model/b", 10)};
  EXPECT_THAT(
      [&] {
        GatherPlan(entries, {{{{0, 4}}, {{0, 3}}}, {{}, {{5, 5}}}}, 64);
      },
      testing::ThrowsMessage<ContractError>(
          testing::AllOf(HasSubstr("model/b"), HasSubstr("elements 3 to 5 of 10"))));
}

TEST(GatherPlan, RefusesExtentsOutsideAndOutOfOrder) {
  const std::vector<StateEntry> entries{entry("model/a", 4)};
  EXPECT_THROW(GatherPlan(entries, {{{{0, 5}}}}, 64), ContractError);
  EXPECT_THROW(GatherPlan(entries, {{{{5, 0}}}}, 64), ContractError);
  EXPECT_THROW(GatherPlan(entries, {{{{1, ~std::uint64_t{0}}}}}, 64), ContractError);
  EXPECT_THROW(GatherPlan(entries, {{{{2, 2}, {0, 2}}}}, 64), ContractError);
  EXPECT_THROW(GatherPlan(entries, {{{{0, 3}, {2, 2}}}}, 64), ContractError);
}

}  // namespace
}  // namespace lockstep
