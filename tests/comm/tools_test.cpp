#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spdlog/fmt/fmt.h>

#include "lockstep/core/error.hpp"
#include "support/collectives.hpp"

namespace lockstep::comm {
namespace {

class ToolsTest : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Collectives> collectives_ = test::world_collectives(GetParam());
  int rank() const { return collectives_->rank(); }
  int size() const { return collectives_->size(); }
};

TEST_P(ToolsTest, MergedSumsAreExactWhateverTheOrder) {
  std::vector<ExactSum> sums(3);
  // Cancels to 1 only when nothing is rounded on the way.
  sums[0].add(rank() == 0 ? 1e300 : 0.0);
  sums[0].add(rank() == size() - 1 ? -1e300 : 0.0);
  sums[0].add(rank() == 0 ? 1.0 : 0.0);
  for (int i = 0; i < 1000; ++i) sums[1].add(0.1);
  merge_sums(*collectives_, sums);
  EXPECT_EQ(sums[0].value(), 1.0);
  ExactSum right;
  for (int i = 0; i < 1000 * size(); ++i) right.add(0.1);
  EXPECT_EQ(sums[1].value(), right.value());
  EXPECT_EQ(sums[2].value(), 0.0);
}

TEST_P(ToolsTest, TextsOfAnyLength) {
  for (const std::size_t length : {0, 1, 100000}) {
    const std::string mine = rank() == size() - 1 ? std::string(length, 'x') : "something else";
    EXPECT_EQ(broadcast_text(*collectives_, mine, size() - 1), std::string(length, 'x'));
  }
  const auto texts = all_gather_text(*collectives_, std::string(static_cast<std::size_t>(rank()) * 3, 'a'));
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(size()));
  for (std::size_t r = 0; r < texts.size(); ++r) EXPECT_EQ(texts[r], std::string(r * 3, 'a'));
}

TEST_P(ToolsTest, AnyRank) {
  EXPECT_FALSE(any_rank(*collectives_, false));
  EXPECT_TRUE(any_rank(*collectives_, rank() == size() - 1));
}

// The place that rank 0 reports is where it threw; where another rank was first, the message names its place.
TEST_P(ToolsTest, AgreedThrowsOnAllTheLowestRanksMessageAndPlace) {
  EXPECT_NO_THROW(agreed(*collectives_, [] {}));
  for (int first = 0; first < size(); ++first) {
    const unsigned line = __LINE__ + 3;
    try {
      agreed(*collectives_, [&] {
        if (rank() >= first) throw InputError(fmt::format("key of rank {}", rank()));
      });
      ADD_FAILURE() << "did not throw";
    } catch (const InputError& error) {
      const std::string place = fmt::format("tools_test.cpp:{}", line);
      EXPECT_EQ(
          std::string(error.what()),
          first == 0 ? "key of rank 0" : fmt::format("rank {} at {}: key of rank {}", first, place, first));
      EXPECT_TRUE(error.together());
      if (rank() == first) {
        EXPECT_EQ(error.place(), place);
      }
    }
  }
}

TEST_P(ToolsTest, AgreedLetsOtherErrorsPass) {
  if (size() > 1) GTEST_SKIP() << "on several ranks the others would wait for the deadline";
  EXPECT_THROW(agreed(*collectives_, [] { throw ContractError("mine alone"); }), ContractError);
}

INSTANTIATE_TEST_SUITE_P(Backends, ToolsTest, testing::ValuesIn(test::collective_backends()));

}  // namespace
}  // namespace lockstep::comm
