#include "lockstep/config/field.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

namespace lockstep::config {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

TEST(Field, IntegerRangesIncludeBothEnds) {
  const IntegerRange range{1, 8};
  EXPECT_FALSE(allows(range, std::int64_t{0}));
  EXPECT_TRUE(allows(range, std::int64_t{1}));
  EXPECT_TRUE(allows(range, std::int64_t{8}));
  EXPECT_FALSE(allows(range, std::int64_t{9}));
  EXPECT_EQ(range_text(range), "1..8");
}

TEST(Field, PowersOfTwo) {
  const IntegerRange range{1, 64, true};
  for (const std::int64_t good : {1, 2, 4, 64}) EXPECT_TRUE(allows(range, good)) << good;
  for (const std::int64_t bad : {0, 3, 6, 63, 128, -2}) EXPECT_FALSE(allows(range, bad)) << bad;
  EXPECT_EQ(range_text(range), "1..64, a power of two");
}

TEST(Field, ListsAreNotEmptyAndEachElementIsInRange) {
  const IntegerRange range{1, 8};
  using List = std::vector<std::int64_t>;
  EXPECT_FALSE(allows(range, List{}));
  EXPECT_TRUE(allows(range, List{1, 8}));
  EXPECT_FALSE(allows(range, List{1, 9}));
  EXPECT_TRUE(allows(range, List(max_list_length, 3)));
  EXPECT_FALSE(allows(range, List(max_list_length + 1, 3)));
}

TEST(Field, FloatRangesKnowOpenEndsAndTakeOnlyFiniteNumbers) {
  const FloatRange half_open{.high = 1, .high_open = true};
  EXPECT_TRUE(allows(half_open, 0.0));
  EXPECT_FALSE(allows(half_open, 1.0));
  EXPECT_TRUE(allows(half_open, std::nextafter(1.0, 0.0)));
  EXPECT_EQ(range_text(half_open), "[0, 1)");
  const FloatRange positive{.low_open = true};
  EXPECT_FALSE(allows(positive, 0.0));
  EXPECT_FALSE(allows(positive, -0.0));
  EXPECT_TRUE(allows(positive, 5e-324));
  EXPECT_EQ(range_text(positive), "> 0");
  EXPECT_EQ(range_text(FloatRange{}), ">= 0");
  for (const double bad : {inf, -inf, std::nan("")}) EXPECT_FALSE(allows(FloatRange{}, bad));
}

TEST(Field, ChoicesAreExact) {
  const Choices choices{{"exact", "fast"}};
  EXPECT_TRUE(allows(choices, "fast"));
  EXPECT_FALSE(allows(choices, "Fast"));
  EXPECT_FALSE(allows(choices, ""));
  EXPECT_EQ(range_text(choices), "\"exact\" | \"fast\"");
}

TEST(Field, TextHasNoNulAndIsBounded) {
  EXPECT_TRUE(allows(AnyText{}, ""));
  EXPECT_FALSE(allows(AnyText{.may_be_empty = false}, ""));
  EXPECT_FALSE(allows(AnyText{}, std::string("a\0b", 3)));
  EXPECT_TRUE(allows(AnyText{}, std::string(max_text_bytes, 'x')));
  EXPECT_FALSE(allows(AnyText{}, std::string(max_text_bytes + 1, 'x')));
}

TEST(Field, FloatsPrintTheShortestTextThatReadsBackAndAlwaysAsFloats) {
  EXPECT_EQ(value_text(1.0), "1.0");
  EXPECT_EQ(value_text(0.0), "0.0");
  EXPECT_EQ(value_text(3e-4), "0.0003");
  EXPECT_EQ(value_text(0.1), "0.1");
  EXPECT_EQ(value_text(1e-8), "1e-08");
  EXPECT_EQ(value_text(1e300), "1e+300");
  for (const double value : {0.1 + 0.2, 1.0 / 3, 5e-324, 1.7976931348623157e308, 123456789012345680.0}) {
    EXPECT_EQ(std::strtod(value_text(value).c_str(), nullptr), value);
  }
}

TEST(Field, OtherValuesPrintAsToml) {
  EXPECT_EQ(value_text(std::int64_t{-7}), "-7");
  EXPECT_EQ(value_text(std::vector<std::int64_t>{64, 32}), "[64, 32]");
  EXPECT_EQ(value_text(std::optional<std::int64_t>{}), "");
  EXPECT_EQ(value_text(true), "true");
  EXPECT_EQ(value_text(std::string("a\"b\\c\nd\te\x01\x7f{}%é")), R"("a\"b\\c\nd\te\u0001\u007F{}%é")");
}

}  // namespace
}  // namespace lockstep::config
