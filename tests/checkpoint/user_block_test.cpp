#include "checkpoint/user_block.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "checkpoint/scratch_folder.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::checkpoint {
namespace {

using testing::HasSubstr;

UserBlock example() {
  UserBlock block{.length = 0x0102030405060708, .body = {}};
  for (std::size_t i = 0; i < 16; ++i) block.body.bytes[i] = static_cast<std::uint8_t>(0xA0 + i);
  return block;
}

TEST(UserBlock, HasTheDocumentedBytes) {
  const auto bytes = encode(example());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), 8), "LOCKSTEP");
  const std::array<std::uint8_t, 16> middle{1, 0, 0, 0, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1};
  for (std::size_t i = 0; i < middle.size(); ++i)
    EXPECT_EQ(std::to_integer<int>(bytes[8 + i]), middle[i]) << i;
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(std::to_integer<std::size_t>(bytes[24 + i]), 0xA0 + i);
  const Hash128 own = hash128(std::span<const std::byte>(bytes).first(40));
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(std::to_integer<std::uint8_t>(bytes[40 + i]), own.bytes[i]);
  EXPECT_TRUE(std::all_of(bytes.begin() + 56, bytes.end(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST(UserBlock, IsReadBack) {
  const UserBlock block = decode(encode(example()), "x.h5");
  EXPECT_EQ(block.length, example().length);
  EXPECT_EQ(block.body, example().body);
}

TEST(UserBlock, EveryFlippedBitOfTheBlockIsFound) {
  const auto good = encode(example());
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    auto bytes = good;
    bytes[bit / 8] ^= std::byte(1u << (bit % 8));
    EXPECT_THROW(decode(bytes, "x.h5"), CheckpointError) << "bit " << bit;
  }
}

TEST(UserBlock, AnotherVersionIsNamed) {
  auto bytes = encode(example());
  bytes[8] = std::byte{2};
  const Hash128 own = hash128(std::span<const std::byte>(bytes).first(40));
  std::copy(own.bytes.begin(), own.bytes.end(), reinterpret_cast<std::uint8_t*>(bytes.data()) + 40);
  EXPECT_THAT(message_of<CheckpointError>([&] { decode(bytes, "x.h5"); }), HasSubstr("user-block version 2"));
}

TEST(WholeFile, SealedBytesPassAndEveryChangeIsFound) {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/x";
  write_file(path, std::string(512, '\0') + "some body");
  seal(path);
  EXPECT_NO_THROW(check_whole_file(path, false));
  const std::string good = read_file(path);
  write_file(path, good + "x");
  EXPECT_THAT(message_of<CheckpointError>([&] { check_whole_file(path, true); }),
              HasSubstr("522 bytes where"));
  write_file(path, good.substr(0, good.size() - 1) + "Y");
  EXPECT_NO_THROW(check_whole_file(path, true));
  EXPECT_THAT(message_of<CheckpointError>([&] { check_whole_file(path, false); }), HasSubstr("is damaged"));
}

}  // namespace
}  // namespace lockstep::checkpoint
