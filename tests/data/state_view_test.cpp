#include <gtest/gtest.h>

#include <array>

#include "lockstep/core/error.hpp"
#include "lockstep/data/state_view.hpp"

namespace lockstep {
namespace {

TEST(StateView, CountsElementsOfScalarsMatricesAndEmptyTensors) {
  EXPECT_EQ((StateEntry{"scalar", Dtype::int64, {}, {}}.elements()), 1u);
  EXPECT_EQ((StateEntry{"matrix", Dtype::float32, {3, 5}, {}}.elements()), 15u);
  EXPECT_EQ((StateEntry{"empty", Dtype::float32, {4, 0}, {}}.elements()), 0u);
}

TEST(StateView, AWholeTensorIsOneExtentWhereItLives) {
  std::array<float, 6> storage{};
  StateView view;
  view.add_whole("model/w", Dtype::float32, {2, 3}, storage.data());
  view.add_whole("model/elsewhere", Dtype::float32, {7}, nullptr, false);
  view.add_whole("model/empty", Dtype::float32, {0}, nullptr);
  ASSERT_EQ(view.entries.size(), 3u);
  ASSERT_EQ(view.entries[0].extents.size(), 1u);
  EXPECT_EQ(view.entries[0].extents[0].offset, 0u);
  EXPECT_EQ(view.entries[0].extents[0].length, 6u);
  EXPECT_EQ(view.entries[0].extents[0].data, reinterpret_cast<std::byte*>(storage.data()));
  EXPECT_TRUE(view.entries[1].extents.empty());
  EXPECT_TRUE(view.entries[2].extents.empty());
}

TEST(StateView, AppendKeepsOrderAndFindsByName) {
  StateView first, second;
  first.add_whole("a", Dtype::int64, {}, nullptr, false);
  second.add_whole("b", Dtype::float64, {2}, nullptr, false);
  second.add_whole("c", Dtype::boolean, {1}, nullptr, false);
  first.append(second);
  ASSERT_EQ(first.entries.size(), 3u);
  EXPECT_EQ(first.entries[2].name, "c");
  ASSERT_NE(first.find("b"), nullptr);
  EXPECT_EQ(first.find("b")->dtype, Dtype::float64);
  EXPECT_EQ(first.find("d"), nullptr);
}

TEST(StateView, ANameAppearsOnce) {
  StateView view, other;
  view.add_whole("a", Dtype::int64, {}, nullptr, false);
  other.add_whole("a", Dtype::int64, {}, nullptr, false);
  EXPECT_THROW(view.add_whole("a", Dtype::int64, {}, nullptr, false), ContractError);
  EXPECT_THROW(view.append(other), ContractError);
  EXPECT_EQ(view.entries.size(), 1u);
}

TEST(EscapedNames, RoundTrip) {
  EXPECT_EQ(escape_name("a/b%c"), "a%2Fb%25c");
  for (const char* name : {"", "plain", "a/b", "100%", "%2F", "/%/", "\xc3\xa9/\n"}) {
    EXPECT_EQ(unescape_name(escape_name(name)), name);
  }
  EXPECT_THROW(unescape_name("a%2"), ContractError);
  EXPECT_THROW(unescape_name("a%41"), ContractError);
}

}  // namespace
}  // namespace lockstep
