#include "checkpoint/publisher.hpp"

#include <fcntl.h>

#include <array>
#include <filesystem>
#include <system_error>

#include "checkpoint/folder.hpp"
#include "lockstep/checkpoint/file_name.hpp"
#include "lockstep/checkpoint/reader.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/posix_file.hpp"

namespace lockstep::checkpoint {

namespace fs = std::filesystem;

void Publisher::prepare() const {
  std::error_code error;
  fs::create_directories(options_.directory, error);
  if (error)
    throw InputError("cannot make the checkpoint folder " + options_.directory + ": " + error.message());
  try {
    sweep_temporaries(options_.directory);
  } catch (const IoError& refused) {
    throw InputError(refused.what());
  }
}

std::string Publisher::path(std::int64_t round) const {
  return options_.directory + "/" + file_name(round);
}

std::string Publisher::temporary(std::int64_t round) const {
  return temporary_path(options_.directory, file_name(round));
}

void Publisher::sync(std::int64_t round) const {
  PosixFile(temporary(round), O_RDWR).sync();
}

void Publisher::verify(std::int64_t round) const {
  try {
    checkpoint::verify(temporary(round));
  } catch (const CheckpointError& error) {
    throw IoError(std::string("what was written does not read back: ") + error.what());
  }
}

void Publisher::publish(std::int64_t round) const {
  rename_file(temporary(round), path(round));
}

void Publisher::sync_folder() const {
  sync_directory(options_.directory);
}

void Publisher::point_to(std::int64_t round) const {
  const std::string pointer(pointer_name);
  const std::string temporary = temporary_path(options_.directory, pointer);
  replace_file(options_.directory + "/" + pointer, temporary, file_name(round) + "\n");
}

void Publisher::prune(std::int64_t round) const {
  const auto rounds = rounds_in(options_.directory);
  for (const std::int64_t old : rounds_to_prune(rounds, round, options_.keep, options_.keep_every)) {
    remove_file(path(old));
  }
}

void Publisher::discard(std::int64_t round) const noexcept {
  std::error_code ignored;
  fs::remove(temporary(round), ignored);
}

void Publisher::damage(std::int64_t round) const {
  if (!fs::exists(temporary(round))) return;
  PosixFile file(temporary(round), O_RDWR);
  const std::uint64_t middle = file.size() / 2;
  std::array<std::byte, 1> bytes{};
  file.read_at(middle, bytes);
  bytes[0] ^= std::byte{1};
  file.write_at(middle, bytes);
}

}  // namespace lockstep::checkpoint
