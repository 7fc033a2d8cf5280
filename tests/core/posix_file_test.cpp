#include "lockstep/core/posix_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "lockstep/core/error.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class PosixFileTest : public testing::Test {
 protected:
  PosixFileTest() {
    std::string pattern = (fs::temp_directory_path() / "lockstep_posix_file_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ + "/file";
  }
  ~PosixFileTest() override { fs::remove_all(folder_); }
  static std::string text(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string folder_, path_;
};

TEST_F(PosixFileTest, WritesAtPlacesReadsUpToTheEndAndCuts) {
  PosixFile file(path_, O_RDWR | O_CREAT);
  file.write_at(0, as_bytes("abcdef"));
  file.write_at(2, as_bytes("XY"));
  EXPECT_EQ(text(path_), "abXYef");
  std::vector<std::byte> bytes(10);
  EXPECT_EQ(file.read_at(4, bytes), 2u);
  EXPECT_EQ(bytes[0], std::byte{'e'});
  file.truncate(3);
  EXPECT_EQ(file.size(), 3u);
  EXPECT_EQ(text(path_), "abX");
}

TEST_F(PosixFileTest, RefusalsNamePathAndCause) {
  try {
    PosixFile(path_, O_RDONLY);
    ADD_FAILURE() << "no IoError";
  } catch (const IoError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(path_), HasSubstr("No such file")));
  }
  PosixFile(path_, O_WRONLY | O_CREAT);
  EXPECT_THROW(PosixFile(path_, O_RDONLY).write_at(0, as_bytes("x")), IoError);
}

TEST_F(PosixFileTest, KnowsWhetherItsPathStillNamesIt) {
  PosixFile file(path_, O_RDWR | O_CREAT);
  EXPECT_TRUE(file.at_its_path());
  fs::rename(path_, path_ + ".moved");
  EXPECT_FALSE(file.at_its_path());
  std::ofstream(path_) << "another";
  EXPECT_FALSE(file.at_its_path());
  fs::rename(path_ + ".moved", path_);
  EXPECT_TRUE(file.at_its_path());
  fs::remove(path_);
  EXPECT_FALSE(file.at_its_path());
}

TEST_F(PosixFileTest, AReplacedFileIsTheNewTextAndNothingElseStays) {
  for (const std::string text_now : {"first, the longer one", "second"}) {
    replace_file(path_, path_ + ".tmp", text_now);
    EXPECT_EQ(text(path_), text_now);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(PosixFileTest, AReplacementThatFailsLeavesTheOldFileAndNoTemporary) {
  fs::create_directory(path_);
  std::ofstream(path_ + "/inside") << "old";
  EXPECT_THROW(replace_file(path_, path_ + ".tmp", "new"), IoError);  // a folder with files is in the way
  EXPECT_EQ(text(path_ + "/inside"), "old");
  EXPECT_FALSE(fs::exists(path_ + ".tmp"));
}

TEST_F(PosixFileTest, RemovingWhatIsGoneIsFine) {
  std::ofstream(path_) << "x";
  remove_file(path_);
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_NO_THROW(remove_file(path_));
  EXPECT_THROW(rename_file(path_, path_ + "2"), IoError);
}

}  // namespace
}  // namespace lockstep
