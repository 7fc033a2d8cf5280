// XXH3 hashes of bytes, one-shot and streaming.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lockstep {

// XXH3-128 in canonical (big-endian) byte order.
struct Hash128 {
  std::array<std::uint8_t, 16> bytes{};
  friend bool operator==(const Hash128&, const Hash128&) = default;
  std::string hex() const;  // 32 lower-case digits
};

std::uint64_t hash64(std::span<const std::byte> bytes) noexcept;
std::uint64_t hash64(std::string_view text) noexcept;
Hash128 hash128(std::span<const std::byte> bytes) noexcept;

// Streaming XXH3-128; move-only. The digest depends on the bytes alone, not on how they were cut.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  void update(std::span<const std::byte> bytes) noexcept;
  Hash128 digest() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep
