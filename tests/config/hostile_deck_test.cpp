// Decks that came from public reports of other programs, and worse: refused with file, line and key, or the
// same effective deck as the plain file.
#include <gtest/gtest.h>

#include <random>

#include "support.hpp"

namespace lockstep::config {
namespace {

using test::parse;
using test::parse_refusal;
using test::plain;
using test::repeated;

const std::string effective = effective_deck(parse(plain));

TEST(HostileDeck, FormsOfTheSameDeck) {
  std::string crlf;
  for (const char c : plain) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(effective_deck(parse("\xEF\xBB\xBF" + plain)), effective);
  EXPECT_EQ(effective_deck(parse(crlf)), effective);
  EXPECT_EQ(effective_deck(parse("\xEF\xBB\xBF" + crlf)), effective);
  EXPECT_EQ(effective_deck(parse(plain.substr(0, plain.size() - 1))), effective);
  EXPECT_EQ(effective_deck(parse(plain + repeated("# [.[.\n", 20'000))), effective);
}

TEST(HostileDeck, MinusZeroIsZero) {
  EXPECT_EQ(effective_deck(parse(plain + "[learner]\nclip_norm = -0.0\n")),
            effective_deck(parse(plain + "[learner]\nclip_norm = 0\n")));
  EXPECT_NE(parse_refusal(plain + "[optimizer]\nlearning_rate = -0.0\n"), "");
}

TEST(HostileDeck, NumbersBeyondTheirTypes) {
  EXPECT_EQ(parse_refusal(plain + "[optimizer]\nlearning_rate = 1e999\n"),
            "d.toml:6: [optimizer] learning_rate: Error while parsing floating-point: '1e999' is beyond the "
            "numbers of 64 bits");
  EXPECT_TRUE(parse_refusal(plain + "[learner]\nshards = 123456789012345678901\n")
                  .starts_with("d.toml:6: [learner] shards: "));
  EXPECT_TRUE(parse_refusal(plain + "[run.x]\n\nseed = 9223372036854775808\n")
                  .starts_with("d.toml:7: [run.x] seed: "));
}

TEST(HostileDeck, TheSameKeyOrSectionTwice) {
  EXPECT_TRUE(parse_refusal(plain + "count = 8\ncount = 8\n").starts_with("d.toml:6: [environment] count: "));
  EXPECT_TRUE(parse_refusal(plain + "[run]\nseed = 1\n").starts_with("d.toml:5: [run]: "));
}

TEST(HostileDeck, NulBytesAndInvalidUtf8) {
  const std::string nul(1, '\0');
  EXPECT_TRUE(parse_refusal(plain + "count = 8" + nul + "\n").starts_with("d.toml:5: [environment] count: "));
  EXPECT_TRUE(parse_refusal(plain + "#" + nul + "\n").starts_with("d.toml:5: "));
  EXPECT_TRUE(parse_refusal(plain + "\n[run]\noutput = \"a" + nul + "b\"\n").starts_with("d.toml:"));
  EXPECT_TRUE(parse_refusal(plain + "count = 8 # \xC3\x28\n").starts_with("d.toml:5: [environment] count: "));
  EXPECT_TRUE(parse_refusal("[run]\nrounds = 1\noutput = \"\\u0000\"\n[environment]\nname = 'x'\n")
                  .starts_with("d.toml:3: run.output = \"\\u0000\" is not legal"));
}

TEST(HostileDeck, ParsersOwnLimits) {
  EXPECT_EQ(parse_refusal(plain + "count = " + repeated("[", 10'000) + repeated("]", 10'000)),
            "d.toml:5: [environment] count: nested more than 16 deep");
  EXPECT_TRUE(parse_refusal(plain + "a" + repeated(".a", 30'000) + " = 1\n")
                  .starts_with("d.toml:5: [environment] a.a."));
  EXPECT_TRUE(parse_refusal(plain + "[a" + repeated(".a", 30'000) + "]\n").starts_with("d.toml:5: [a.a."));
  EXPECT_TRUE(
      parse_refusal(plain + repeated("k", 200'000) + " = 1\n").starts_with("d.toml:5: environment.kkk"));
}

TEST(HostileDeck, ManyProblemsMakeAShortMessage) {
  std::string toml = plain;
  for (int i = 0; i < 10'000; ++i) toml.append("k").append(std::to_string(i)).append(" = 1\n");
  const std::string message = parse_refusal(toml);
  EXPECT_TRUE(message.ends_with("\nand 9980 more"));
  EXPECT_LT(message.size(), 4000u);
  EXPECT_EQ(parse_refusal(plain + "count = [" + repeated("1,", 50) + "]\n"),
            "d.toml:5: environment.count = [" + repeated("1, ", 19) +
                "1,... is a list; it takes an integer, 1..1048576");
  EXPECT_LT(parse_refusal(plain + "count = \"" + repeated("é", 100'000) + "\"\n").size(), 200u);
}

// Any damage gives a deck whose effective text is stable, or an InputError that begins with the path.
TEST(HostileDeck, DamagedDecksNeverDoAnythingElse) {
  Deck full = parse(plain);
  full.run.output = "a \"b\" \\ é\n";
  const std::string text = effective_deck(full);
  const std::string tokens[] = {"[",
                                "]",
                                "{",
                                "}",
                                "\"",
                                "'",
                                "\"\"\"",
                                ".",
                                "=",
                                "\n",
                                "#",
                                "\\",
                                ",",
                                "-",
                                "nan",
                                "\xff",
                                std::string(1, '\0')};
  std::mt19937 draw(1);
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = text;
    for (unsigned edits = draw() % 3 + 1; edits > 0; --edits) {
      damaged.replace(draw() % damaged.size(), draw() % 4, tokens[draw() % std::size(tokens)]);
    }
    try {
      const std::string once = effective_deck(parse(damaged));
      EXPECT_EQ(effective_deck(parse(once)), once);
      ++accepted;
    } catch (const InputError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("d.toml:")) << error.what();
    }
  }
  EXPECT_GT(accepted, 10);
  EXPECT_LT(accepted, 2000);
}

}  // namespace
}  // namespace lockstep::config
