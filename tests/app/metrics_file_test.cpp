#include "app/metrics_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lockstep/core/error.hpp"

namespace lockstep::app {
namespace {

class MetricsFileTest : public ::testing::Test {
 protected:
  MetricsFileTest() {
    char name[] = "/tmp/lockstep-metrics-XXXXXX";
    folder_ = ::mkdtemp(name);
    path_ = folder_ + "/metrics.jsonl";
  }
  ~MetricsFileTest() override { std::filesystem::remove_all(folder_); }
  std::string text() const {
    std::ostringstream out;
    out << std::ifstream(path_).rdbuf();
    return out.str();
  }
  static History history(int rows) {
    History made;
    for (int i = 1; i <= rows; ++i) made.append({{"round", i}, {"loss", 0.5 * i}});
    return made;
  }

  std::string folder_, path_;
};

TEST_F(MetricsFileTest, ResumeCutsWhatCameAfterTheMark) {
  const History rows = history(3);
  MetricsFile file = MetricsFile::start(path_);
  file.append(rows.row(0), {{"collect_s", 0.123}});
  const MetricsFile::Mark mark = file.sync();
  const std::string kept = text();
  file.append(rows.row(1), {});
  MetricsFile resumed = MetricsFile::resume(path_, mark, rows, 1);
  EXPECT_FALSE(resumed.rewritten());
  EXPECT_EQ(text(), kept);
  resumed.append(rows.row(1), {});
  EXPECT_EQ(text(), kept + "{\"round\":2,\"loss\":1.0}\n");
}

TEST_F(MetricsFileTest, AChangedOrMissingFileIsWrittenAnewFromTheHistory) {
  const History rows = history(3);
  MetricsFile file = MetricsFile::start(path_);
  file.append(rows.row(0), {{"collect_s", 0.123}});
  const MetricsFile::Mark mark = file.sync();
  for (const char* content : {"", "{}\n", "{\"round\":1,\"loss\":0.5,\"timings\":{\"collect_s\":0.124}}\n"}) {
    std::ofstream(path_) << content;
    EXPECT_TRUE(MetricsFile::resume(path_, mark, rows, 2).rewritten());
    EXPECT_EQ(text(), "{\"round\":1,\"loss\":0.5}\n{\"round\":2,\"loss\":1.0}\n");
  }
}

// A second resume finds the place that the first one's next save marked.
TEST_F(MetricsFileTest, TheMarkAfterAResumeCoversTheWholeFile) {
  const History rows = history(2);
  MetricsFile file = MetricsFile::start(path_);
  file.append(rows.row(0), {});
  const MetricsFile::Mark first = file.sync();
  MetricsFile second = MetricsFile::resume(path_, first, rows, 1);
  second.append(rows.row(1), {});
  const MetricsFile::Mark mark = second.sync();
  EXPECT_EQ(mark.length, text().size());
  EXPECT_FALSE(MetricsFile::resume(path_, mark, rows, 2).rewritten());
}

// Removed, replaced or moved: a line written all the same would be lost.
TEST_F(MetricsFileTest, APathThatNamesAnotherFileIsNoticedAtTheNextLine) {
  const History rows = history(2);
  for (const char* how : {"removed", "replaced", "moved"}) {
    MetricsFile file = MetricsFile::start(path_);
    file.append(rows.row(0), {});
    if (how == std::string("moved"))
      std::filesystem::rename(path_, path_ + ".moved");
    else
      std::filesystem::remove(path_);
    if (how == std::string("replaced")) std::ofstream(path_) << "{}\n";
    try {
      file.append(rows.row(1), {});
      ADD_FAILURE() << how;
    } catch (const IoError& error) {
      EXPECT_NE(std::string(error.what()).find(path_), std::string::npos) << error.what();
    }
  }
}

TEST_F(MetricsFileTest, AFolderInTheWayIsAnErrorWithItsPath) {
  std::filesystem::create_directory(path_);
  EXPECT_THROW(MetricsFile::start(path_), IoError);
}

}  // namespace
}  // namespace lockstep::app
