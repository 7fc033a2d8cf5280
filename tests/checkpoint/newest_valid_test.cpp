#include <gmock/gmock.h>

#include "checkpoint/shared_folder.hpp"
#include "lockstep/checkpoint/checkpoint.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::checkpoint {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class NewestValid : public WithRanks {
 protected:
  std::string write(std::int64_t round) {
    Writer writer(collectives(), {.directory = directory()});
    Contents contents;
    contents.round = round;
    return writer.write(contents);
  }
  std::optional<std::string> newest() { return newest_valid(collectives(), directory()); }
  std::string pointer() const { return directory() + "/latest"; }
};

TEST_F(NewestValid, NoFolderOrNoFileIsNoCheckpoint) {
  EXPECT_EQ(newest(), std::nullopt);
  EXPECT_EQ(newest_valid(collectives(), directory() + "/missing"), std::nullopt);
  write_file(directory() + "/notes.txt", "x");
  write_file(pointer(), "round_0000000009.h5\n");
  EXPECT_EQ(newest(), std::nullopt);
}

TEST_F(NewestValid, FallsBackPastDamagedFiles) {
  const std::string good = write(1);
  const std::string flipped = write(2);
  const std::string cut = write(3);
  std::string bytes = read_file(flipped);
  bytes[700] = static_cast<char>(bytes[700] ^ 4);
  write_file(flipped, bytes);
  write_file(cut, read_file(cut).substr(0, 600));
  EXPECT_EQ(newest(), good);
}

// Each reason is told once: in the log where a file is good, else in the error.
TEST_F(NewestValid, AllDamagedIsAnErrorNamingThem) {
  const std::string one = write(1);
  const std::string two = write(2);
  write_file(two, "x");
  testing::internal::CaptureStderr();
  EXPECT_EQ(newest(), one);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("not used: checkpoint " + two));
  write_file(one, "");
  testing::internal::CaptureStderr();
  EXPECT_THAT(message_of<CheckpointError>([&] { newest(); }),
              AllOf(HasSubstr(one), HasSubstr(two), HasSubstr(directory())));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(NewestValid, ThePointerIsOnlyAHint) {
  write(1);
  const std::string good = write(2);
  for (const std::string& text :
       {std::string("round_0000000001.h5\n"), std::string("round_0000000009.h5\n"), std::string(),
        std::string("../../etc/passwd\n"), std::string(100'000, '\xff'), std::string("\0\n", 2)}) {
    write_file(pointer(), text);
    EXPECT_EQ(newest(), good);
  }
  std::filesystem::remove(pointer());
  EXPECT_EQ(newest(), good);
  std::filesystem::create_directory(pointer());
  EXPECT_EQ(newest(), good);
}

TEST_F(NewestValid, LinksStrayFilesAndFoldersAreIgnored) {
  const std::string good = write(1);
  std::filesystem::create_symlink(good, directory() + "/round_0000000007.h5");
  std::filesystem::create_symlink("nowhere", directory() + "/round_0000000008.h5");
  std::filesystem::create_directory(directory() + "/round_0000000009.h5");
  write_file(directory() + "/round_0000000009.h5.bak", "x");
  write_file(directory() + "/.round_0000000010.h5.tmp", "x");
  EXPECT_EQ(newest(), good);
}

TEST_F(NewestValid, AFileUnderAFolderPathIsAnError) {
  write_file(directory() + "/file", "x");
  EXPECT_THROW(newest_valid(collectives(), directory() + "/file"), CheckpointError);
}

}  // namespace
}  // namespace lockstep::checkpoint
