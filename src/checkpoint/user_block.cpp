#include "checkpoint/user_block.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include "lockstep/core/error.hpp"
#include "lockstep/core/posix_file.hpp"

namespace lockstep::checkpoint {
namespace {

constexpr char magic[] = "LOCKSTEP";
constexpr std::uint32_t user_block_version = 1;
// Byte offsets of the fields.
constexpr std::size_t version_at = 8;
constexpr std::size_t reserved_at = 12;
constexpr std::size_t length_at = 16;
constexpr std::size_t body_hash_at = 24;
constexpr std::size_t own_hash_at = 40;
constexpr std::size_t rest_at = 56;
// Small enough to stay in cache between the read and the hash.
constexpr std::size_t read_bytes = 1u << 20;

void put_little_endian(std::byte* to, std::uint64_t value, std::size_t bytes) noexcept {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

std::uint64_t get_little_endian(const std::byte* from, std::size_t bytes) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  return value;
}

bool all_zero(std::span<const std::byte> bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

Hash128 hash_body(const PosixFile& file) {
  Hasher hasher;
  std::vector<std::byte> buffer(read_bytes);
  std::uint64_t offset = user_block_bytes;
  while (const std::size_t got = file.read_at(offset, buffer)) {
    hasher.update(std::span(buffer).first(got));
    offset += got;
  }
  return hasher.digest();
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw CheckpointError("checkpoint " + path + " " + why);
}

// Opening a pipe or a device could block or do harm, so the kind is looked at first.
void require_regular_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    refuse(path,
           errno == ENOENT ? "does not exist" : std::string("cannot be inspected: ") + std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) refuse(path, "is a folder, not a file");
  if (!S_ISREG(status.st_mode)) refuse(path, "is not a regular file");
}

}  // namespace

std::array<std::byte, user_block_bytes> encode(const UserBlock& block) noexcept {
  std::array<std::byte, user_block_bytes> bytes{};
  std::memcpy(bytes.data(), magic, version_at);
  put_little_endian(bytes.data() + version_at, user_block_version, 4);
  put_little_endian(bytes.data() + length_at, block.length, 8);
  std::memcpy(bytes.data() + body_hash_at, block.body.bytes.data(), block.body.bytes.size());
  const Hash128 own = hash128(std::span<const std::byte>(bytes).first(own_hash_at));
  std::memcpy(bytes.data() + own_hash_at, own.bytes.data(), own.bytes.size());
  return bytes;
}

UserBlock decode(const std::array<std::byte, user_block_bytes>& bytes, const std::string& path) {
  const std::span<const std::byte> all(bytes);
  if (std::memcmp(bytes.data(), magic, version_at) != 0) {
    refuse(path, "is not a Lockstep checkpoint: its first 8 bytes are not LOCKSTEP");
  }
  const Hash128 own = hash128(all.first(own_hash_at));
  if (std::memcmp(bytes.data() + own_hash_at, own.bytes.data(), own.bytes.size()) != 0) {
    refuse(path, "is damaged: the user block's bytes 0-39 do not have the hash in its bytes 40-55");
  }
  const auto version = get_little_endian(bytes.data() + version_at, 4);
  if (version != user_block_version) {
    refuse(path, "has user-block version " + std::to_string(version) + "; this program reads version " +
                     std::to_string(user_block_version));
  }
  if (!all_zero(all.subspan(reserved_at, length_at - reserved_at)) || !all_zero(all.subspan(rest_at))) {
    refuse(path, "is damaged: reserved bytes of the user block are not zero");
  }
  UserBlock block;
  block.length = get_little_endian(bytes.data() + length_at, 8);
  std::memcpy(block.body.bytes.data(), bytes.data() + body_hash_at, block.body.bytes.size());
  return block;
}

void seal(const std::string& path) {
  PosixFile file(path, O_RDWR);
  file.write_at(0, encode({.length = file.size(), .body = hash_body(file)}));
}

void check_whole_file(const std::string& path, bool trust_body) {
  require_regular_file(path);
  try {
    const PosixFile file(path, O_RDONLY);
    const std::uint64_t size = file.size();
    std::array<std::byte, user_block_bytes> bytes{};
    if (file.read_at(0, bytes) < bytes.size()) {
      refuse(path, "is cut: " + std::to_string(size) + " bytes, less than the user block's 512");
    }
    const UserBlock block = decode(bytes, path);
    if (size != block.length) {
      refuse(path, "has " + std::to_string(size) + " bytes where its user block says " +
                       std::to_string(block.length));
    }
    if (trust_body) return;
    if (const Hash128 found = hash_body(file); found != block.body) {
      refuse(path, "is damaged: the bytes from 512 on have hash " + found.hex() + ", the user block says " +
                       block.body.hex());
    }
  } catch (const IoError& error) {
    refuse(path, std::string("cannot be read: ") + error.what());
  }
}

}  // namespace lockstep::checkpoint
