// Reads the HDF5 part of a checkpoint: lists datasets, opens them, reads runs of elements. Trusts no size in
// the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/hdf5/handle.hpp"
#include "checkpoint/hdf5/types.hpp"
#include "lockstep/checkpoint/dataset_info.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/hash.hpp"

namespace lockstep::checkpoint {

// One open dataset.
class StoredDataset {
 public:
  const DatasetInfo& info() const noexcept { return info_; }
  std::uint64_t elements() const noexcept { return elements_; }
  // Elements [offset, offset + length) into `to`; they must lie within the dataset.
  void read(std::uint64_t offset, std::uint64_t length, std::byte* to) const;
  std::vector<std::byte> read_whole() const;
  std::string stored_hash() const;  // the attribute's 32 digits
  Hash128 computed_hash() const;    // reads everything in bounded pieces

 private:
  friend class StoredFile;
  DatasetInfo info_;
  std::uint64_t elements_ = 0;
  hid_t type_ = -1;
  hdf5::Handle dataset_;
};

// Every function throws CheckpointError that names the file.
class StoredFile {
 public:
  explicit StoredFile(const std::string& path);

  const std::string& path() const noexcept { return path_; }
  std::int64_t root_attribute(const char* name) const;
  // Datasets at any depth under the root's group `group`, sorted by name; none when the group is missing.
  std::vector<DatasetInfo> list(const std::string& group) const;
  StoredDataset open(const std::string& name) const;
  // Runs `body`; what HDF5 refuses becomes a CheckpointError about this file.
  template <class Body>
  auto guarded(Body&& body) const;

 private:
  void walk(hid_t group, const std::string& name, std::vector<DatasetInfo>& found) const;
  StoredDataset describe(hdf5::Handle dataset, const std::string& name) const;
  [[noreturn]] void refuse(const std::string& why) const;

  std::string path_;
  std::uint64_t bytes_ = 0;
  hdf5::TypeTable types_;
  hdf5::Handle file_;
};

template <class Body>
auto StoredFile::guarded(Body&& body) const {
  try {
    return body();
  } catch (const IoError& error) {
    refuse(error.what());
  }
}

// Opens a file once it has proved whole (user_block.hpp; with `trust_body` its hash is not computed) and of a
// format that this program reads.
StoredFile open_checkpoint(const std::string& path, bool trust_body);

}  // namespace lockstep::checkpoint
