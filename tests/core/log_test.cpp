#include "lockstep/core/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "lockstep/core/error.hpp"

namespace lockstep {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

// What `body` writes to standard error.
std::string captured(const std::function<void()>& body) {
  testing::internal::CaptureStderr();
  body();
  log::flush();
  return testing::internal::GetCapturedStderr();
}

TEST(Log, RankZeroOfSeveralSpeaksPlainly) {
  log::start(0, 4);
  EXPECT_EQ(captured([] { log::info("round 3"); }), "round 3\n");
  EXPECT_EQ(captured([] { log::warning("slow"); }), "warning: [rank 0] slow\n");
  EXPECT_EQ(captured([] { log::error("lost"); }), "error: [rank 0] lost\n");
}

TEST(Log, OtherRanksOnlyWarn) {
  log::start(3, 4);
  EXPECT_EQ(captured([] { log::info("round 3"); }), "");
  EXPECT_EQ(captured([] { log::warning("slow"); }), "warning: [rank 3] slow\n");
}

TEST(Log, ALoneRankHasNoNumber) {
  log::start(0, 1);
  EXPECT_EQ(captured([] { log::warning("slow"); }), "warning: slow\n");
}

TEST(Log, MessagesAreLiteral) {
  log::start(0, 1);
  EXPECT_EQ(captured([] { log::info("{} {0} {{ %v %s %n"); }), "{} {0} {{ %v %s %n\n");
  EXPECT_EQ(captured([] { log::info("two\nlines \x1b[31mred"); }), "two\\nlines \\x1b[31mred\n");
}

TEST(Log, OneLineKeepsTextAndEscapesTheRest) {
  EXPECT_EQ(log::one_line(""), "");
  EXPECT_EQ(log::one_line("Grüße, 同步 🙂"), "Grüße, 同步 🙂");
  EXPECT_EQ(log::one_line("a\tb\r\x7f"), "a\\tb\\x0d\\x7f");
  EXPECT_EQ(log::one_line(std::string_view("\0x", 2)), "\\x00x");
  EXPECT_EQ(log::one_line("\xc2\x9b"
                          "31m"),
            "\\xc2\\x9b"
            "31m");                                             // the one-character CSI
  EXPECT_EQ(log::one_line("\xff\xc3"), "\\xff\\xc3");           // not UTF-8, cut short
  EXPECT_EQ(log::one_line("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(log::one_line("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a surrogate pair
}

// What was said before the file was there comes first in it.
TEST(Log, TheFileHasTimesAndIsAppendedTo) {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("lockstep_log_{}.txt", getpid())).string();
  log::start(0, 1);
  captured([&] {
    log::info("before");
    log::to_file(path);
    log::info("first");
    log::to_file(path);
    log::warning("second");
  });
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const std::string time = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3}[+-][0-9]{2}:[0-9]{2} ";
  EXPECT_THAT(text.str(), ContainsRegex(time + "before\n" + time + "first\n" + time + "warning: second\n$"));
  std::remove(path.c_str());
}

TEST(Log, AFileThatCannotBeOpenedIsNamed) {
  log::start(0, 1);
  try {
    log::to_file("/dev/null/log.txt");
    FAIL() << "no IoError";
  } catch (const IoError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/dev/null/log.txt"));
  }
  log::start(1, 2);
  log::to_file("/dev/null/log.txt");  // not rank 0: nothing to open
  log::start(0, 1);
}

}  // namespace
}  // namespace lockstep
