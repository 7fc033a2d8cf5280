#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "lockstep/config/deck.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::config {
namespace {

constexpr std::size_t max_deck_bytes = std::size_t{1} << 20;

class File {
 public:
  // O_NONBLOCK: a FIFO without a writer opens at once, to be refused by its kind.
  explicit File(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    if (fd_ < 0) fail();
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  struct stat status() const {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) fail();
    return status;
  }

  // Up to one byte more than a deck may have.
  std::string read() const {
    std::string bytes(max_deck_bytes + 1, '\0');
    std::size_t size = 0;
    while (size < bytes.size()) {
      const ssize_t got = ::read(fd_, bytes.data() + size, bytes.size() - size);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail();
      if (got == 0) break;
      size += static_cast<std::size_t>(got);
    }
    bytes.resize(size);
    return bytes;
  }

 private:
  [[noreturn]] void fail() const {
    throw InputError(fmt::format("{}: the deck cannot be read: {}", path_, std::strerror(errno)));
  }

  const std::string& path_;
  int fd_;
};

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "no regular file";
}

std::string deck_name(const std::string& path) {
  const std::string file = path.substr(path.find_last_of('/') + 1);
  const bool named = file.size() > 5 && file.ends_with(".toml");
  return named ? file.substr(0, file.size() - 5) : file;
}

}  // namespace

DeckText read_deck(const std::string& path) {
  const File file(path);
  const struct stat status = file.status();
  if (!S_ISREG(status.st_mode)) {
    throw InputError(
        fmt::format("{}: the deck is {}, it must be a file of TOML", path, kind_of(status.st_mode)));
  }
  std::string bytes = file.read();
  if (bytes.size() > max_deck_bytes) {
    throw InputError(fmt::format("{}: the deck has {} bytes, at most {} (1 MiB) are read", path,
                                 static_cast<std::int64_t>(status.st_size), max_deck_bytes));
  }
  return {deck_name(path), path, std::move(bytes)};
}

}  // namespace lockstep::config
