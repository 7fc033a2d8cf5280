// A fault at each site of the write, on each rank: the same error everywhere, and the old or the new file,
// never neither.
#include <gmock/gmock.h>

#include <cstdlib>

#include "checkpoint/example_state.hpp"
#include "checkpoint/shared_folder.hpp"
#include "lockstep/checkpoint/checkpoint.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/fault.hpp"

namespace lockstep::checkpoint {
namespace {

using testing::HasSubstr;

class Publish : public WithRanks {
 protected:
  void SetUp() override {
    if (fault::sites().empty()) GTEST_SKIP() << "this build has no fault sites";
    WithRanks::SetUp();
    writer_ = std::make_unique<Writer>(
        collectives(),
        WriterOptions{.directory = directory(), .keep = 1, .keep_every = 0, .chunk_bytes = 1024});
    write(1);
  }
  void TearDown() override {
    ::unsetenv("LOCKSTEP_FAULT");
    fault::configure(0);
    if (writer_) WithRanks::TearDown();
  }

  std::string write(std::int64_t round) {
    ExampleState state(example_tensors(), Spread::cyclic, rank(), size());
    state.fill();
    Contents contents;
    contents.state = state.view();
    contents.round = round;
    return writer_->write(contents);
  }
  void arm(const std::string& site, int at_rank, const std::string& action) {
    const std::string text = site + ":" + std::to_string(at_rank) + ":2:" + action;
    ::setenv("LOCKSTEP_FAULT", text.c_str(), 1);
    fault::configure(rank());
  }
  bool there(const std::string& name) const { return std::filesystem::exists(directory() + "/" + name); }

  std::unique_ptr<Writer> writer_;
};

std::string temporary_name(std::int64_t round) {
  return std::string(".").append(file_name(round)).append(".tmp");
}

constexpr const char* sites_before[] = {"checkpoint.begin", "checkpoint.chunk",  "checkpoint.close",
                                        "checkpoint.sync",  "checkpoint.verify", "checkpoint.rename"};
constexpr const char* sites_after[] = {"checkpoint.directory", "checkpoint.pointer", "checkpoint.prune"};

TEST_F(Publish, AFailureBeforeTheRenameLeavesTheOldFileAlone) {
  for (const char* site : sites_before) {
    for (int at = 0; at < size(); ++at) {
      arm(site, at, "throw");
      const std::string text = message_of<IoError>([&] { write(2); });
      EXPECT_THAT(text, HasSubstr(site));
      EXPECT_EQ(text.starts_with("rank "), at != 0) << text;
      for (const std::string& other : comm::all_gather_text(collectives(), text)) EXPECT_EQ(other, text);
      collectives().barrier().wait();
      EXPECT_FALSE(there(temporary_name(2))) << site;
      EXPECT_NO_THROW(verify(directory() + "/" + file_name(1))) << site;
      // While another rank fails in the step of the rename, rank 0 may have renamed: old and new are both
      // there.
      if (std::string(site) == "checkpoint.rename" && at != 0) continue;
      EXPECT_FALSE(there(file_name(2))) << site;
      EXPECT_EQ(newest_valid(collectives(), directory()), directory() + "/" + file_name(1));
    }
  }
  EXPECT_NO_THROW(verify(write(2)));
}

TEST_F(Publish, AFailureAfterTheRenameLeavesBoth) {
  for (const char* site : sites_after) {
    arm(site, 0, "throw");
    EXPECT_THAT(message_of<IoError>([&] { write(2); }), HasSubstr(site));
    EXPECT_NO_THROW(verify(directory() + "/" + file_name(1))) << site;
    EXPECT_NO_THROW(verify(directory() + "/" + file_name(2))) << site;
    EXPECT_EQ(newest_valid(collectives(), directory()), directory() + "/" + file_name(2));
  }
  write(2);
  collectives().barrier().wait();
  if (rank() == 0) {
    EXPECT_FALSE(there(file_name(1)));
  }
}

TEST_F(Publish, ABitThatFlipsOnTheWayToDiskIsFoundBeforeTheRename) {
  for (const char* site : {"checkpoint.sync", "checkpoint.verify"}) {
    arm(site, 0, "flip");
    EXPECT_THAT(message_of<IoError>([&] { write(2); }), HasSubstr("does not read back"));
    EXPECT_FALSE(there(file_name(2)));
    EXPECT_NO_THROW(verify(directory() + "/" + file_name(1)));
  }
}

TEST_F(Publish, ADelayIsNoFailure) {
  arm("checkpoint.chunk", size() - 1, "delay");
  EXPECT_NO_THROW(verify(write(2)));
}

TEST_F(Publish, ANewWriterSweepsWhatADeadOneLeft) {
  if (rank() == 0) {
    write_file(directory() + "/" + temporary_name(5), "half");
    write_file(directory() + "/.latest.tmp", "half");
    write_file(directory() + "/.mine.tmp", "keep");
  }
  const Writer writer(collectives(), {.directory = directory()});
  collectives().barrier().wait();
  EXPECT_FALSE(there(temporary_name(5)));
  EXPECT_FALSE(there(".latest.tmp"));
  EXPECT_TRUE(there(".mine.tmp"));
}

TEST_F(Publish, ALinkInTheTemporarysPlaceIsNotFollowed) {
  if (rank() == 0) {
    write_file(directory() + "/precious", "data");
    std::filesystem::create_symlink("precious", directory() + "/" + temporary_name(2));
    std::filesystem::create_symlink("precious", directory() + "/" + file_name(0));
  }
  EXPECT_NO_THROW(verify(write(2)));
  EXPECT_EQ(read_file(directory() + "/precious"), "data");
  EXPECT_TRUE(there(file_name(0))) << "a link is none of ours to prune";
}

}  // namespace
}  // namespace lockstep::checkpoint
