// The 512 bytes before the HDF5 file: magic, length and hash of the whole. With them one plain read of the
// file finds any flipped bit. Byte by byte in docs/checkpoint.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "lockstep/core/hash.hpp"

namespace lockstep::checkpoint {

inline constexpr std::size_t user_block_bytes = 512;

struct UserBlock {
  std::uint64_t length = 0;  // of the whole file in bytes
  Hash128 body;              // XXH3-128 of the file's bytes from 512 to its end
};

std::array<std::byte, user_block_bytes> encode(const UserBlock& block) noexcept;
// Throws CheckpointError that says what is wrong; `path` is for the message.
UserBlock decode(const std::array<std::byte, user_block_bytes>& bytes, const std::string& path);

// Hashes a closed HDF5 file and writes its user block. Throws IoError.
void seal(const std::string& path);

// Checks kind, user block, length and, unless `trust_body`, the hash of everything behind the user block.
// Throws CheckpointError naming the file and what is wrong.
void check_whole_file(const std::string& path, bool trust_body);

}  // namespace lockstep::checkpoint
