#include "lockstep/checkpoint/run_lock.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "lockstep/core/error.hpp"
#include "lockstep/core/host.hpp"
#include "lockstep/core/log.hpp"
#include "lockstep/core/posix_file.hpp"

namespace lockstep::checkpoint {
namespace {

std::string self_description() {
  return fmt::format("process {} on {}, started {}\n", ::getpid(), host_name(), utc_now());
}

std::string holder_of(const PosixFile& file) {
  std::array<std::byte, 512> bytes{};
  const std::size_t got = file.read_at(0, bytes);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), got);
  const std::string line = text.substr(0, text.find('\n'));
  return line.empty() ? "another process" : line;
}

// A lock that its holder has just taken may still carry the text of the one before; that is the worst that
// can happen.
void acquire(const PosixFile& file, const std::string& run_directory) {
  if (::flock(file.descriptor(), LOCK_EX | LOCK_NB) == 0) return;
  const int cause = errno;
  if (cause == EWOULDBLOCK) {
    throw InputError(fmt::format("run directory {} is in use by {}; wait for it or choose another --output",
                                 run_directory, holder_of(file)));
  }
  if (cause == ENOSYS || cause == ENOTSUP || cause == EINVAL || cause == ENOLCK) {
    log::warning(
        fmt::format("the file system of {} has no locks ({}): a second job there would not be noticed",
                    run_directory, std::strerror(cause)));
    return;
  }
  throw InputError(fmt::format("cannot lock run directory {}: {}", run_directory, std::strerror(cause)));
}

}  // namespace

struct RunLock::State {
  PosixFile file;
};

RunLock::RunLock(const std::string& run_directory) {
  try {
    PosixFile file(run_directory + "/.lock", O_RDWR | O_CREAT | O_NOFOLLOW);
    acquire(file, run_directory);
    const std::string text = self_description();
    file.truncate(0);
    file.write_at(0, as_bytes(text));
    state_ = std::make_unique<State>(State{std::move(file)});
  } catch (const IoError& error) {
    throw InputError(std::string("cannot lock the run directory: ") + error.what());
  }
}

RunLock::~RunLock() = default;
RunLock::RunLock(RunLock&&) noexcept = default;
RunLock& RunLock::operator=(RunLock&&) noexcept = default;

}  // namespace lockstep::checkpoint
