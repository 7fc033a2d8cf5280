// What only the shared-memory backend does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/statvfs.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "lockstep/core/error.hpp"
#include "support/collectives.hpp"

namespace lockstep::comm {
namespace {

using testing::HasSubstr;

TEST(SharedMemory, SegmentsHaveNoNameOnceMapped) {
  auto collectives = test::world_collectives("shared_memory");
  const staging::Buffer window = collectives->allocate(1 << 16);
  std::ifstream maps("/proc/self/maps");
  int mapped = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/dev/shm/lockstep-") == std::string::npos) continue;
    ++mapped;
    EXPECT_TRUE(line.ends_with("(deleted)")) << line;
  }
  EXPECT_GE(mapped, 2 * collectives->size());  // every rank's control and window
}

TEST(SharedMemory, OldRemnantsAreSweptAndYoungNamesAreNot) {
  namespace fs = std::filesystem;
  auto collectives = test::world_collectives("mpi");
  const std::string pid = broadcast_text(*collectives, std::to_string(::getpid()), 0);
  const fs::path old = "/dev/shm/lockstep-old-" + pid;
  const fs::path young = "/dev/shm/lockstep-young-" + pid;
  if (collectives->rank() == 0) {
    std::ofstream(old) << "left";
    std::ofstream(young) << "in use";
    fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::minutes(11));
  }
  collectives->barrier().wait();
  const auto shared = test::world_collectives("shared_memory");
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
  shared->barrier().wait();
  if (collectives->rank() == 0) fs::remove(young);
}

TEST(SharedMemory, NoRoomIsAnAgreedFallBackToPlainMemory) {
  auto collectives = test::world_collectives("shared_memory");
  struct statvfs space {};
  ASSERT_EQ(::statvfs("/dev/shm", &space), 0);
  if (static_cast<double>(space.f_blocks) * static_cast<double>(space.f_frsize) > 64e6) {
    GTEST_SKIP() << "/dev/shm is too large here to be filled: a fall-back would need that much plain memory";
  }
  staging::Buffer plain =
      collectives->allocate(static_cast<std::size_t>(space.f_blocks + 1) * space.f_frsize);
  auto* value = reinterpret_cast<std::int64_t*>(plain.data());
  *value = 1;
  collectives->all_reduce(value, 1, Dtype::int64, ReduceOp::sum).wait();
  EXPECT_EQ(*value, collectives->size());
}

TEST(SharedMemory, DifferentCallsAreNamedNotHung) {
  auto collectives = test::world_collectives("shared_memory", 20);
  std::vector<float> values(64, 1);
  try {
    if (collectives->rank() == 0) {
      collectives->all_reduce(values.data(), 64, Dtype::float32, ReduceOp::sum).wait();
    } else {
      collectives->all_reduce(values.data(), 63, Dtype::float32, ReduceOp::sum).wait();
    }
    // Ranks other than 0 may only meet the difference in comparing with rank 0.
    ADD_FAILURE() << "different sizes went through";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(), HasSubstr("all_reduce of 256 bytes"));
    EXPECT_THAT(error.what(), HasSubstr("all_reduce of 252 bytes"));
  }
  static_cast<void>(collectives.release());  // its queue holds the failed call
}

TEST(SharedMemory, AWindowMayBeFreedAndAnotherTakesItsPlace) {
  auto collectives = test::world_collectives("shared_memory");
  for (int round = 0; round < 20; ++round) {
    staging::Buffer window = collectives->allocate(1 << 16);
    auto* values = reinterpret_cast<std::int64_t*>(window.data());
    EXPECT_TRUE(std::all_of(values, values + 8192, [](std::int64_t v) { return v == 0; }));
    std::fill(values, values + 8192, collectives->rank() + round);
    collectives->all_reduce(values, 8192, Dtype::int64, ReduceOp::sum).wait();
    const std::int64_t ranks = collectives->size();
    EXPECT_EQ(values[8191], ranks * (ranks - 1) / 2 + ranks * round);
  }
}

TEST(SharedMemory, AWindowOutlivesItsCollectives) {
  staging::Buffer window;
  {
    auto collectives = test::world_collectives("shared_memory");
    window = collectives->allocate(4096);
    window.data()[4095] = std::byte{9};
  }
  EXPECT_EQ(window.data()[4095], std::byte{9});
}

}  // namespace
}  // namespace lockstep::comm
