// Reads checkpoints: verified first, checked against what is wanted, then read straight into live storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/checkpoint/dataset_info.hpp"
#include "lockstep/data/state_view.hpp"

namespace lockstep::checkpoint {

// Reads one file. Local, no collective; every rank may hold one. Every function throws CheckpointError that
// names the file and what is wrong with it.
class Reader {
 public:
  // Checks, before anything else is believed: user block, length, whole-file hash, format version. With
  // `whole_file_verified` the hash alone is taken on trust (another rank of this run has just computed it).
  explicit Reader(const std::string& path, bool whole_file_verified = false);
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  std::int64_t round() const noexcept;
  const std::vector<DatasetInfo>& datasets() const noexcept;  // of /model and /training, sorted by name
  std::map<std::string, std::vector<double>> history() const;
  std::map<std::string, std::string> provenance() const;

  // Compares names, dtypes and shapes of `wanted` with the file's, touching nothing. One error tells all
  // problems, up to five names of each kind: missing, unexpected, other shape, other dtype. Only names that
  // begin with `prefix` count, on both sides: "" is all of /model and /training, "model/" the network alone.
  void check(const StateView& wanted, std::string_view prefix = "") const;
  // Reads this rank's extents of every entry whose name begins with `prefix`. Call check first: an entry that
  // does not fit is refused when its turn comes, after others have been read; ContractError for an extent
  // beyond its tensor.
  void read(const StateView& wanted, std::string_view prefix = "") const;
  // A whole dataset as row-major little-endian bytes, for small things.
  std::vector<std::byte> read_bytes(const std::string& name) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Verifies one file wholly: user block, whole-file hash, format version, every dataset's hash. Throws
// CheckpointError.
void verify(const std::string& path);

}  // namespace lockstep::checkpoint
