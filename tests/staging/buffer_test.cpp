#include "lockstep/staging/buffer.hpp"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <set>

#include "lockstep/core/error.hpp"

namespace lockstep::staging {
namespace {

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

std::string unique_name(const char* what) {
  return "/lockstep-test-" + std::to_string(::getpid()) + "-" + what;
}

TEST(Buffer, IsZeroAlignedAndCounted) {
  const std::size_t before = live_bytes();
  reset_peak();
  {
    const Buffer a(1000);
    const Buffer b(24);
    EXPECT_TRUE(all_zero(a.bytes()));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.data()) % 64, 0u);
    EXPECT_EQ(live_bytes(), before + 1024);
  }
  EXPECT_EQ(live_bytes(), before);
  EXPECT_EQ(peak_bytes(), before + 1024);
  reset_peak();
  EXPECT_EQ(peak_bytes(), before);
}

TEST(Buffer, EmptyHoldsNothing) {
  const std::size_t before = live_bytes();
  const Buffer none(0);
  EXPECT_EQ(none.size(), 0u);
  EXPECT_EQ(none.owner(), nullptr);
  EXPECT_EQ(live_bytes(), before);
}

TEST(Buffer, MoveEmptiesTheSourceAndOwnerKeepsTheMemory) {
  const std::size_t before = live_bytes();
  Buffer first(128);
  std::byte* data = first.data();
  Buffer second = std::move(first);
  EXPECT_EQ(first.data(), nullptr);  // NOLINT(bugprone-use-after-move): what a move leaves is promised
  EXPECT_EQ(first.size(), 0u);
  EXPECT_EQ(second.data(), data);
  std::shared_ptr<void> held = second.owner();
  second = Buffer();
  EXPECT_EQ(live_bytes(), before + 128);
  std::memset(data, 7, 128);
  held.reset();
  EXPECT_EQ(live_bytes(), before);
}

TEST(BufferPool, ReusesAndGrowsOnlyWhenAllAreOut) {
  const std::size_t before = live_bytes();
  {
    BufferPool pool(256, 2);
    EXPECT_EQ(live_bytes(), before + 512);
    Buffer a = pool.take();
    Buffer b = pool.take();
    EXPECT_EQ(live_bytes(), before + 512);
    const std::set<std::byte*> known{a.data(), b.data()};
    Buffer c = pool.take();
    EXPECT_EQ(live_bytes(), before + 768);
    EXPECT_FALSE(known.contains(c.data()));
    pool.give_back(std::move(a));
    EXPECT_TRUE(known.contains(pool.take().data()));
    EXPECT_THROW(pool.give_back(Buffer(128)), ContractError);
  }
  EXPECT_EQ(live_bytes(), before);
}

TEST(SharedSegment, IsSharedZeroedAndLeavesNoName) {
  const std::string name = unique_name("shared");
  SharedSegment maker = SharedSegment::create(name, 10000);
  EXPECT_TRUE(all_zero({maker.data(), maker.size()}));
  SharedSegment opener = SharedSegment::open(name, 10000);
  EXPECT_NE(maker.data(), opener.data());
  maker.data()[9999] = std::byte{42};
  EXPECT_EQ(opener.data()[9999], std::byte{42});
  EXPECT_THROW(SharedSegment::create(name, 64), IoError);
  maker.unlink();
  EXPECT_FALSE(std::filesystem::exists("/dev/shm" + name));
  EXPECT_THROW(SharedSegment::open(name, 64), IoError);
  EXPECT_EQ(opener.data()[9999], std::byte{42});  // mappings outlive the name
}

TEST(SharedSegment, RefusesToMapBeyondItsEnd) {
  const std::string name = unique_name("short");
  const SharedSegment maker = SharedSegment::create(name, 4096);
  EXPECT_THROW(SharedSegment::open(name, 4097), IoError);
}

TEST(SharedSegment, NoRoomIsAnErrorAndLeavesNoName) {
  struct statvfs space {};
  ASSERT_EQ(::statvfs("/dev/shm", &space), 0);
  const std::size_t too_much = (static_cast<std::size_t>(space.f_blocks) + 1) * space.f_frsize + (1u << 20);
  const std::string name = unique_name("full");
  EXPECT_THROW(SharedSegment::create(name, too_much), IoError);
  EXPECT_FALSE(std::filesystem::exists("/dev/shm" + name));
}

TEST(SharedSegment, AWindowKeepsTheMapping) {
  Buffer window;
  {
    SharedSegment segment = SharedSegment::create(unique_name("window"), 8192);
    window = Buffer(segment.owner(), segment.data() + 4096, 64);
  }
  std::memset(window.data(), 1, window.size());
  EXPECT_EQ(window.data()[63], std::byte{1});
}

TEST(Allocator, LargeTemporariesAreReused) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's allocator stands in for the C library's";
#endif
  tune_allocator();
  constexpr std::size_t bytes = 24u << 20;
  const auto from_mmap = [] { return ::mallinfo2().hblkhd; };
  const std::size_t before = from_mmap();
  void* block = std::malloc(bytes);
  std::memset(block, 1, bytes);
  EXPECT_EQ(from_mmap(), before);  // from the heap, where a free block is used again
  std::free(block);
  void* again = std::malloc(bytes);
  EXPECT_EQ(again, block);
  std::free(again);
}

}  // namespace
}  // namespace lockstep::staging
