#include "deck_scan.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace lockstep::config {
namespace {

using test::refusal;
using test::repeated;

std::string nesting_refusal(const std::string& toml) {
  return refusal([&] { check_nesting(toml, "d.toml"); });
}

TEST(DeckScan, OrdinaryTomlPasses) {
  EXPECT_EQ(nesting_refusal(test::plain), "");
  EXPECT_EQ(nesting_refusal(
                "a = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7]"),
            "");
  EXPECT_EQ(nesting_refusal(repeated("a = [1]\n", 1000)), "");
}

TEST(DeckScan, NestingIsBoundedWithLineAndKey) {
  EXPECT_EQ(nesting_refusal("[learner]\n\nshards = " + repeated("[", 10'000)),
            "d.toml:3: [learner] shards: nested more than 16 deep");
  EXPECT_EQ(nesting_refusal("a = " + repeated("{b=", 17)), "d.toml:1: a: nested more than 16 deep");
  EXPECT_EQ(nesting_refusal("a = " + repeated("[", 16) + repeated("]", 16)), "");
}

TEST(DeckScan, DottedPartsAreBoundedInKeysHeadersAndInlineTables) {
  const std::string many = repeated("a.", 30'000) + "a";
  const std::string complaint = ": a name of more than 16 dotted parts";
  EXPECT_EQ(nesting_refusal(many + " = 1"), "d.toml:1: " + many.substr(0, 60) + "..." + complaint);
  EXPECT_EQ(nesting_refusal("\n[" + many + "]"), "d.toml:2: [" + many.substr(0, 59) + "..." + complaint);
  EXPECT_EQ(nesting_refusal("x = { " + many + " = 1 }"), "d.toml:1: x" + complaint);
  EXPECT_EQ(nesting_refusal("x = [1,\n2, {" + many + " = 1}]"), "d.toml:2: x" + complaint);
  EXPECT_EQ(nesting_refusal("'a'" + repeated(".\"b\"", 16) + " = 1").substr(0, 14), "d.toml:1: 'a'.");
}

TEST(DeckScan, StringsAndCommentsHideBracketsAndDots) {
  const std::string noise = repeated("[.", 100);
  EXPECT_EQ(nesting_refusal("# " + noise + "\na = 1 # " + noise), "");
  EXPECT_EQ(nesting_refusal("a = \"" + noise + "\\\"" + noise + "\""), "");
  EXPECT_EQ(nesting_refusal("a = '" + noise + "\\'"), "");
  EXPECT_EQ(nesting_refusal("a = \"\"\"\n" + noise + "\n\"" + noise + "\"\"\""), "");
  EXPECT_EQ(nesting_refusal("a = '''" + noise + "\n'''"), "");
}

TEST(DeckScan, NothingHidesBehindAString) {
  const std::string deep = repeated("[", 100);
  EXPECT_NE(nesting_refusal("a = [\"\", " + deep), "");
  EXPECT_NE(nesting_refusal("a = ['\\', " + deep), "");
  EXPECT_NE(nesting_refusal("a = [\"\"\"x\"\"\"\"\", " + deep),
            "");  // two quotes of text before the closing fence
  EXPECT_NE(nesting_refusal("a = ['''x'''', " + deep), "");
  EXPECT_NE(nesting_refusal("a = \"not closed\nb = " + deep), "");
}

TEST(DeckScan, StatementOfALine) {
  const std::string toml =
      "\xEF\xBB\xBF# top\nx = 1\n[learner] # c\n\nshards = [\n1,\n2]\n'a b' = \"\"\"\n\n\"\"\"\n# end\n[net";
  EXPECT_EQ(statement_at(toml, 1), "");
  EXPECT_EQ(statement_at(toml, 2), "x");
  EXPECT_EQ(statement_at(toml, 3), "[learner]");
  EXPECT_EQ(statement_at(toml, 4), "[learner]");
  EXPECT_EQ(statement_at(toml, 6), "[learner] shards");
  EXPECT_EQ(statement_at(toml, 9), "[learner] 'a b'");
  EXPECT_EQ(statement_at(toml, 11), "[learner]");
  EXPECT_EQ(statement_at(toml, 12), "[net");
}

TEST(DeckScan, ShortenedTextIsCutBetweenCharacters) {
  EXPECT_EQ(shortened("short"), "short");
  EXPECT_EQ(shortened("aé", 2), "a...");
  EXPECT_EQ(shortened("aéb", 3), "aé...");
}

}  // namespace
}  // namespace lockstep::config
