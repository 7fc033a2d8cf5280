#include "lockstep/core/hash.hpp"

#include <spdlog/fmt/fmt.h>
#include <xxhash.h>

#include <algorithm>
#include <new>

namespace lockstep {
namespace {

Hash128 canonical(XXH128_hash_t hash) noexcept {
  XXH128_canonical_t text;
  XXH128_canonicalFromHash(&text, hash);
  Hash128 result;
  static_assert(sizeof(text.digest) == sizeof(result.bytes));
  std::copy_n(text.digest, sizeof(text.digest), result.bytes.begin());
  return result;
}

}  // namespace

std::string Hash128::hex() const {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::uint64_t hash64(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t hash64(std::string_view text) noexcept {
  return XXH3_64bits(text.data(), text.size());
}

Hash128 hash128(std::span<const std::byte> bytes) noexcept {
  return canonical(XXH3_128bits(bytes.data(), bytes.size()));
}

struct Hasher::State {
  State() : stream(XXH3_createState()) {
    if (stream == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(stream);
  }
  ~State() { XXH3_freeState(stream); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  XXH3_state_t* stream;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(std::span<const std::byte> bytes) noexcept {
  if (!bytes.empty()) XXH3_128bits_update(state_->stream, bytes.data(), bytes.size());
}

Hash128 Hasher::digest() const noexcept {
  return canonical(XXH3_128bits_digest(state_->stream));
}

}  // namespace lockstep
