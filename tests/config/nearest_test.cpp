#include "nearest.hpp"

#include <gtest/gtest.h>

namespace lockstep::config {
namespace {

TEST(Nearest, EditDistanceByHand) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("shards", "shard"), 1u);
  EXPECT_EQ(edit_distance("shadrs", "shards"), 1u);  // neighbours swapped
  EXPECT_EQ(edit_distance("ca", "abc"), 3u);         // restricted: no part twice
  EXPECT_EQ(edit_distance("Clip-Norm", "clip_norm"), 0u);
}

TEST(Nearest, NamesTheNearestOnly) {
  const std::vector<std::string> names{"shards", "sharding", "clip_norm"};
  EXPECT_EQ(did_you_mean("shard", names), "; did you mean shards?");
  EXPECT_EQ(did_you_mean("shardin", names), "; did you mean sharding?");
  EXPECT_EQ(did_you_mean("CLIP-NORM", names), "; did you mean clip_norm?");
  EXPECT_EQ(did_you_mean("temperature", names), "");
  EXPECT_EQ(did_you_mean("", names), "");
  EXPECT_EQ(did_you_mean(std::string(1'000'000, 's'), names), "");
}

TEST(Nearest, AShortNameIsNotRewrittenWholly) {
  EXPECT_EQ(did_you_mean("zz", {"on"}), "");
}

}  // namespace
}  // namespace lockstep::config
