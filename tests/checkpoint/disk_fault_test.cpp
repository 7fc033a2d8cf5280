// The disk refuses in the middle of a write: reported on every rank, the old checkpoint intact, the next
// write good.
#include <gmock/gmock.h>

#include <cerrno>
#include <cstring>

#include "checkpoint/example_state.hpp"
#include "checkpoint/failing_calls.hpp"
#include "checkpoint/shared_folder.hpp"
#include "lockstep/checkpoint/checkpoint.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::checkpoint {
namespace {

using testing::HasSubstr;

class DiskFault : public WithRanks {
 protected:
  void SetUp() override {
    WithRanks::SetUp();
    writer_ = std::make_unique<Writer>(
        collectives(),
        WriterOptions{.directory = directory(), .keep = 1, .keep_every = 0, .chunk_bytes = 4096});
    write(1);
  }
  void TearDown() override {
    failing::disarm();
    WithRanks::TearDown();
  }
  std::string write(std::int64_t round) {
    ExampleState state(example_tensors(), Spread::sliced, rank(), size());
    state.fill();
    Contents contents;
    contents.state = state.view();
    contents.round = round;
    return writer_->write(contents);
  }
  // Calls that one undisturbed write makes.
  int calls_of_a_write(const std::string& call) {
    failing::arm(call, 1 << 30, EIO);
    write(1);
    const int calls = failing::seen();
    failing::disarm();
    return std::stoi(comm::broadcast_text(collectives(), std::to_string(calls), 0));
  }
  void expect_reported(const std::string& call, int countdown, int error, bool forever) {
    failing::arm(call, countdown, error, forever);
    const std::string text = message_of<IoError>([&] { write(2); });
    failing::disarm();
    EXPECT_THAT(text, HasSubstr(std::strerror(error))) << call << " " << countdown;
    for (const std::string& other : comm::all_gather_text(collectives(), text)) EXPECT_EQ(other, text);
    EXPECT_FALSE(std::filesystem::exists(directory() + "/." + file_name(2) + ".tmp"));
    EXPECT_NO_THROW(verify(directory() + "/" + file_name(1)));
    EXPECT_NE(newest_valid(collectives(), directory()), std::nullopt);
  }
  std::unique_ptr<Writer> writer_;
};

TEST_F(DiskFault, EveryWriteThatFailsIsReported) {
  const int calls = calls_of_a_write("pwrite");
  ASSERT_GT(calls, 5);
  for (int i = 0; i < calls; ++i) {
    for (const int error : {ENOSPC, EIO}) expect_reported("pwrite", i, error, false);
  }
  EXPECT_NO_THROW(verify(write(2)));
}

TEST_F(DiskFault, ADiskThatStaysFullIsReportedAndLaterWritesWork) {
  const int calls = calls_of_a_write("pwrite");
  for (int i = 0; i < calls; ++i) {
    for (const int error : {ENOSPC, EDQUOT}) expect_reported("pwrite", i, error, true);
  }
  EXPECT_NO_THROW(verify(write(2)));
}

TEST_F(DiskFault, FailuresLeaveNoDescriptorOpen) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  const int calls = calls_of_a_write("pwrite");
  const auto before = descriptors();
  for (int i = 0; i < calls; ++i) expect_reported("pwrite", i, EIO, true);
  EXPECT_EQ(descriptors(), before);
}

TEST_F(DiskFault, AnFsyncThatFailsOnceIsAFailedSave) {
  const int calls = calls_of_a_write("fsync");
  ASSERT_GE(calls, 4) << "file, folder, pointer, folder";
  for (int i = 0; i < calls; ++i) expect_reported("fsync", i, EIO, false);
  EXPECT_NO_THROW(verify(write(2)));
}

TEST_F(DiskFault, ARenameThatFailsIsAFailedSave) {
  ASSERT_EQ(calls_of_a_write("rename"), 2);
  for (int i = 0; i < 2; ++i) expect_reported("rename", i, EIO, false);
  EXPECT_NO_THROW(verify(write(2)));
}

TEST_F(DiskFault, InterruptedAndShortWritesAreGoneOnWith) {
  const int calls = calls_of_a_write("pwrite");
  for (int i = 0; i < calls; ++i) {
    failing::arm("pwrite", i, EINTR);
    EXPECT_NO_THROW(verify(write(1)));
    failing::arm("short_pwrite", i, 0);
    EXPECT_NO_THROW(verify(write(1)));
  }
  failing::arm("fsync", 0, EINTR);
  EXPECT_NO_THROW(verify(write(2)));
}

}  // namespace
}  // namespace lockstep::checkpoint
