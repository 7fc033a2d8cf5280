#include "metrics_file.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "lockstep/core/error.hpp"

namespace lockstep::app {
namespace {

[[noreturn]] void fail(const char* what, const std::string& path) {
  throw IoError(fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno)));
}

int open_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) fail("open", path);
  return descriptor;
}

}  // namespace

MetricsFile MetricsFile::start(const std::string& path) {
  MetricsFile file(path, open_file(path));
  file.cut(0);
  return file;
}

MetricsFile MetricsFile::resume(const std::string& path, const Mark& mark, const History& history,
                                std::size_t lines) {
  MetricsFile file(path, open_file(path));
  if (file.matches(mark)) {
    file.cut(mark.length);
    return file;
  }
  file.hasher_ = Hasher();
  file.cut(0);
  for (std::size_t i = 0; i < lines; ++i) file.append(history.row(i), {});
  file.rewritten_ = true;
  return file;
}

MetricsFile::MetricsFile(MetricsFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      length_(other.length_),
      hasher_(std::move(other.hasher_)),
      rewritten_(other.rewritten_) {}

MetricsFile::~MetricsFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// Hashes the first mark.length bytes into hasher_; false when there are fewer, or they are others.
bool MetricsFile::matches(const Mark& mark) {
  std::vector<std::byte> chunk(1 << 20);
  std::uint64_t at = 0;
  while (at < mark.length) {
    const std::size_t want = std::min<std::uint64_t>(chunk.size(), mark.length - at);
    const ssize_t got = ::pread(descriptor_, chunk.data(), want, static_cast<off_t>(at));
    if (got < 0) {
      if (errno == EINTR) continue;
      fail("read", path_);
    }
    if (got == 0) return false;
    hasher_.update({chunk.data(), static_cast<std::size_t>(got)});
    at += static_cast<std::uint64_t>(got);
  }
  return hasher_.digest().hex() == mark.hash;
}

void MetricsFile::cut(std::uint64_t length) {
  if (::ftruncate(descriptor_, static_cast<off_t>(length)) != 0) fail("truncate", path_);
  length_ = length;
}

void MetricsFile::append(const History::Row& row, const std::map<std::string, double>& timings) {
  write(json_line(row, timings) + "\n");
}

void MetricsFile::write(const std::string& text) {
  hasher_.update(std::as_bytes(std::span(text)));
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote =
        ::pwrite(descriptor_, text.data() + done, text.size() - done, static_cast<off_t>(length_ + done));
    if (wrote < 0 && errno != EINTR) fail("write", path_);
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  length_ += text.size();
}

MetricsFile::Mark MetricsFile::sync() {
  if (::fsync(descriptor_) != 0) fail("sync", path_);
  return {.length = length_, .hash = hasher_.digest().hex()};
}

}  // namespace lockstep::app
