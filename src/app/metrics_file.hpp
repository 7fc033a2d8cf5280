// metrics.jsonl of a run directory: appended a line a round, cut on resume to what the checkpoint knew. Rank
// 0's; local.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "history.hpp"
#include "lockstep/core/hash.hpp"
#include "lockstep/core/posix_file.hpp"

namespace lockstep::app {

class MetricsFile {
 public:
  // What a checkpoint keeps of the file, to find its place again.
  struct Mark {
    std::uint64_t length = 0;
    std::string hash;  // XXH3-128 of the first `length` bytes, hex
  };

  // Opens for a new run: the file is made empty. IoError naming the path.
  static MetricsFile start(const std::string& path);
  // Opens for a resumed run: cuts the file to the mark when its beginning is what the mark says; else
  // (another folder, an edited file) writes `lines` rows of the history anew, without timings, and
  // `rewritten()` is true.
  static MetricsFile resume(const std::string& path, const Mark& mark, const History& history,
                            std::size_t lines);

  // IoError when the line cannot be written, or when the path names the file no more: somebody removed or
  // replaced the run directory, and nobody would ever read the line.
  void append(const History::Row& row, const std::map<std::string, double>& timings);
  // Makes what was appended durable and says where it ends.
  Mark sync();
  bool rewritten() const noexcept { return rewritten_; }

 private:
  explicit MetricsFile(const std::string& path);
  bool matches(const Mark& mark);
  void cut(std::uint64_t length);

  PosixFile file_;
  std::uint64_t length_ = 0;
  Hasher hasher_;
  bool rewritten_ = false;
};

}  // namespace lockstep::app
