#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "support.hpp"

namespace lockstep::config {
namespace {

using test::refusal;

TEST(DeckReference, OneSectionIsAlignedText) {
  EXPECT_EQ(
      deck_reference("evaluation"),
      "[evaluation] Greedy episodes that measure the policy.\n"
      "  every     integer  0        0..9007199254740992     Rounds between evaluations; 0 is at the end "
      "only.\n"
      "  episodes  integer  100      1..1048576              Episodes of an evaluation, played greedily.\n"
      "  seed      integer  1000000  0..9223372036854775807  Seed of the evaluation's environments, apart "
      "from "
      "training's.\n");
}

TEST(DeckReference, EverySectionAndKeyIsThere) {
  const std::string all = deck_reference();
  std::istringstream deck(effective_deck(test::parse(test::plain)));
  for (std::string line; std::getline(deck, line);) {
    if (line.empty()) continue;
    const std::string name =
        line[0] == '[' ? "\n" + line + " " : "\n  " + line.substr(0, line.find(' ')) + " ";
    EXPECT_NE(("\n" + all).find(name), std::string::npos) << line;
  }
  EXPECT_NE(all.find("environment_steps"), std::string::npos);
  EXPECT_NE(all.find("(required)"), std::string::npos);
  EXPECT_NE(all.find("(not set)"), std::string::npos);
}

TEST(DeckReference, KeysOfSomeAlgorithmsSayWhich) {
  const std::string text = deck_reference("algorithm");
  EXPECT_NE(text.find("Passes over the rollout in a round. (ppo)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Discount of a reward one step later.\n"), std::string::npos) << text;
  EXPECT_NE(text.find("tau                  float    0.005"), std::string::npos) << text;
  EXPECT_NE(text.find("tau                  float    1.0"), std::string::npos) << text;
  EXPECT_EQ(deck_reference().find("(ppo, dqn, sac, td3)"), std::string::npos);
  const std::string all = deck_reference();
  EXPECT_LT(all.find("[environment]"), all.find("[replay]"));
  EXPECT_LT(all.find("[replay]"), all.find("[evaluation]"));
}

TEST(DeckReference, AnUnknownSectionIsRefused) {
  EXPECT_EQ(refusal([] { deck_reference("optimiser"); }),
            "optimiser: no section of the deck; the sections are run, runtime, learner, optimizer, "
            "algorithm, network, "
            "environment, replay, evaluation, checkpoint; did you mean optimizer?");
}

// With LOCKSTEP_UPDATE=1 the page is written instead.
TEST(DeckReference, ThePageInDocsIsTheGeneratedOne) {
  const std::string path = LOCKSTEP_SOURCE_DIR "/docs/deck.md";
  const char* update = std::getenv("LOCKSTEP_UPDATE");
  if (update && std::string(update) == "1")
    std::ofstream(path, std::ios::binary) << deck_reference_markdown();
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  EXPECT_EQ(bytes.str(), deck_reference_markdown())
      << "run this test with LOCKSTEP_UPDATE=1 and commit the page";
}

TEST(DeckReference, BarsAreEscapedInMarkdown) {
  EXPECT_NE(deck_reference_markdown().find("| `reduction` | string | `\"exact\"` | \"exact\" \\| \"fast\" |"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::config
