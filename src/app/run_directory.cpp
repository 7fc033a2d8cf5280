#include "run_directory.hpp"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "lockstep/core/error.hpp"
#include "lockstep/core/log.hpp"
#include "lockstep/core/posix_file.hpp"

namespace lockstep::app {
namespace {

namespace fs = std::filesystem;

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path, error))
    throw InputError(fmt::format("cannot make the run directory '{}': {}; choose another --output", path,
                                 error ? error.message() : "something that is no folder is in the way"));
  if (::access(path.c_str(), W_OK) != 0)
    throw InputError(
        fmt::format("cannot write into '{}': {}; choose another --output", path, std::strerror(errno)));
}

// Whether the folder could be made: its nearest ancestor that exists must be a folder that can be written.
void check_can_be_made(const std::string& path) {
  fs::path ancestor = fs::absolute(path).lexically_normal();
  std::error_code error;
  while (!fs::exists(fs::status(ancestor, error)) && ancestor.has_relative_path())
    ancestor = ancestor.parent_path();
  if (!fs::is_directory(ancestor, error))
    throw InputError(
        fmt::format("cannot make the run directory '{}': '{}' is no folder; choose another --output", path,
                    ancestor.native()));
  if (::access(ancestor.c_str(), W_OK) != 0)
    throw InputError(
        fmt::format("cannot make the run directory '{}': cannot write into '{}': {}; choose another --output",
                    path, ancestor.native(), std::strerror(errno)));
}

// The folder was not there when this job looked for checkpoints; if another job has trained in it since,
// starting anew would write over its work.
std::unique_ptr<checkpoint::RunLock> lock_new(const std::string& path) {
  auto lock = std::make_unique<checkpoint::RunLock>(path);
  if (fs::exists(path + "/metrics.jsonl"))
    throw InputError(fmt::format(
        "another job began to train in '{}' meanwhile; run the command again to go on from it", path));
  return lock;
}

}  // namespace

RunDirectory::RunDirectory(comm::Collectives& collectives, std::string path)
    : collectives_(collectives), path_(std::move(path)) {}

void RunDirectory::lock_existing() {
  comm::agreed(collectives_, [&] {
    if (collectives_.rank() != 0) return;
    check_can_be_made(path_);
    std::error_code ignored;
    if (fs::is_directory(path_, ignored)) lock_ = std::make_unique<checkpoint::RunLock>(path_);
  });
}

void RunDirectory::open(const std::string& effective_deck) {
  comm::agreed(collectives_, [&] {
    if (collectives_.rank() != 0) return;
    try {
      make_folder(path_);
      if (!lock_) lock_ = lock_new(path_);
      make_folder(checkpoints());
      log::to_file(path_ + "/log.txt");
      const std::string deck = path_ + "/deck.toml";
      replace_file(deck, deck + ".tmp", effective_deck);
    } catch (const IoError& error) {
      throw InputError(error.what());
    }
  });
}

}  // namespace lockstep::app
