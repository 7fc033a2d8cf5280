#include "metrics_file.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <span>
#include <vector>

#include "lockstep/core/error.hpp"

namespace lockstep::app {

MetricsFile::MetricsFile(const std::string& path) : file_(path, O_RDWR | O_CREAT) {}

MetricsFile MetricsFile::start(const std::string& path) {
  MetricsFile file(path);
  file.cut(0);
  return file;
}

MetricsFile MetricsFile::resume(const std::string& path, const Mark& mark, const History& history,
                                std::size_t lines) {
  MetricsFile file(path);
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

// Hashes the first mark.length bytes into hasher_; false when there are fewer, or they are others.
bool MetricsFile::matches(const Mark& mark) {
  std::vector<std::byte> chunk(1 << 20);
  for (std::uint64_t at = 0; at < mark.length;) {
    const auto part = std::span(chunk).first(std::min<std::uint64_t>(chunk.size(), mark.length - at));
    if (file_.read_at(at, part) < part.size()) return false;
    hasher_.update(part);
    at += part.size();
  }
  return hasher_.digest().hex() == mark.hash;
}

void MetricsFile::cut(std::uint64_t length) {
  file_.truncate(length);
  length_ = length;
}

void MetricsFile::append(const History::Row& row, const std::map<std::string, double>& timings) {
  if (!file_.at_its_path())
    throw IoError(fmt::format(
        "cannot write the round's line: '{}' was removed or replaced while the run went on; leave "
        "the run directory in its place until the job has ended",
        file_.path()));
  const std::string line = json_line(row, timings) + "\n";
  hasher_.update(as_bytes(line));
  file_.write_at(length_, as_bytes(line));
  length_ += line.size();
}

MetricsFile::Mark MetricsFile::sync() {
  file_.sync();
  return {.length = length_, .hash = hasher_.digest().hex()};
}

}  // namespace lockstep::app
