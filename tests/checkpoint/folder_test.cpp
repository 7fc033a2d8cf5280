#include "checkpoint/folder.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "checkpoint/scratch_folder.hpp"

namespace lockstep::checkpoint {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(Retention, KeepsTheNewest) {
  const std::vector<std::int64_t> rounds{1, 2, 3, 4, 5};
  EXPECT_THAT(rounds_to_prune(rounds, 5, 3, 0), UnorderedElementsAre(1, 2));
  EXPECT_THAT(rounds_to_prune(rounds, 5, 1, 0), UnorderedElementsAre(1, 2, 3, 4));
  EXPECT_THAT(rounds_to_prune(rounds, 5, 9, 0), IsEmpty());
}

TEST(Retention, KeepsMultiples) {
  const std::vector<std::int64_t> rounds{0, 5, 10, 12, 15, 17};
  EXPECT_THAT(rounds_to_prune(rounds, 17, 1, 10), UnorderedElementsAre(5, 12, 15));
}

TEST(Retention, LeavesLaterRoundsAloneAndDoesNotCountThem) {
  const std::vector<std::int64_t> rounds{3, 4, 5, 8, 9};
  EXPECT_THAT(rounds_to_prune(rounds, 5, 2, 0), UnorderedElementsAre(3));
}

TEST(Folder, ListsRegularFilesOfTheRightNameOnly) {
  const ScratchFolder folder;
  write_file(folder.path() + "/round_0000000007.h5", "x");
  write_file(folder.path() + "/round_0000000003.h5", "x");
  write_file(folder.path() + "/round_7.h5", "x");
  write_file(folder.path() + "/notes.txt", "x");
  std::filesystem::create_directory(folder.path() + "/round_0000000008.h5");
  std::filesystem::create_symlink("round_0000000007.h5", folder.path() + "/round_0000000009.h5");
  EXPECT_THAT(rounds_in(folder.path()), ElementsAre(3, 7));
  EXPECT_THAT(rounds_in(folder.path() + "/missing"), IsEmpty());
}

TEST(Folder, SweepsTemporariesAndNothingElse) {
  const ScratchFolder folder;
  const auto left = [&](const std::string& name) {
    return std::filesystem::exists(folder.path() + "/" + name);
  };
  const std::vector<std::string> ours{".round_0000000001.h5.tmp", ".latest.tmp"};
  const std::vector<std::string> others{
      "round_0000000001.h5", ".round_1.h5.tmp", "x.tmp", ".notes.tmp", ".tmp", "latest", ".lock",
      "..latest.tmp"};
  for (const auto& names : {ours, others}) {
    for (const auto& name : names) write_file(folder.path() + "/" + name, "x");
  }
  sweep_temporaries(folder.path());
  for (const auto& name : ours) EXPECT_FALSE(left(name)) << name;
  for (const auto& name : others) EXPECT_TRUE(left(name)) << name;
}

}  // namespace
}  // namespace lockstep::checkpoint
