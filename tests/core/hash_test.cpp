// Expected values: the `xxhash` package for Python, version 3 (libxxhash's own).
#include "lockstep/core/hash.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep {
namespace {

std::vector<std::byte> counting(std::size_t size, std::size_t factor, std::size_t modulus) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * factor % modulus);
  return bytes;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(Hash, MatchesKnownVectors) {
  EXPECT_EQ(hash64(std::string_view{}), 0x2d06800538d394c2U);
  EXPECT_EQ(hash64("a"), 0xe6c632b61e964e1fU);
  EXPECT_EQ(hash64("lockstep"), 0x2f270043200950ecU);
  EXPECT_EQ(hash64(counting(256, 1, 256)), 0x9408a4433b952d71U);
  EXPECT_EQ(hash64(counting(4096, 7, 251)), 0x5d9027c84d5f33f7U);
  EXPECT_EQ(hash128({}).hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash128(bytes_of("a")).hex(), "a96faf705af16834e6c632b61e964e1f");
  EXPECT_EQ(hash128(bytes_of("lockstep")).hex(), "b4ead11c934f0a1e75345b2b871d8c38");
  EXPECT_EQ(hash128(counting(256, 1, 256)).hex(), "f1f8a93f50849ac39408a4433b952d71");
  EXPECT_EQ(hash128(counting(4096, 7, 251)).hex(), "dec463517b2529a15d9027c84d5f33f7");
}

TEST(Hash, StreamingDependsOnTheBytesNotOnTheCuts) {
  const std::vector<std::byte> bytes = counting(4096, 7, 251);
  for (const std::size_t piece : {1, 3, 64, 255, 1000, 4096}) {
    Hasher hasher;
    for (std::size_t i = 0; i < bytes.size(); i += piece) {
      hasher.update(std::span(bytes).subspan(i, std::min(piece, bytes.size() - i)));
      hasher.update({});
    }
    EXPECT_EQ(hasher.digest(), hash128(bytes)) << piece;
  }
}

TEST(Hash, AHasherMovesWithItsState) {
  const std::vector<std::byte> bytes = counting(4096, 7, 251);
  Hasher first;
  first.update(std::span(bytes).first(1234));
  Hasher second = std::move(first);
  second.update(std::span(bytes).subspan(1234));
  EXPECT_EQ(second.digest(), hash128(bytes));
  EXPECT_EQ(second.digest(), hash128(bytes));  // reading changes nothing
}

}  // namespace
}  // namespace lockstep
