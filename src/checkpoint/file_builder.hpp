// Writes one HDF5 file from front to back: datasets one after another, each in as many pieces as its bytes
// come in.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/hdf5/handle.hpp"
#include "checkpoint/hdf5/types.hpp"
#include "checkpoint/hdf5/written_file.hpp"
#include "lockstep/core/dtype.hpp"
#include "lockstep/core/hash.hpp"

namespace lockstep::checkpoint {

// Needs the bytes of a whole dataset between begin() and end(), in row-major order; holds none of them. Equal
// calls give an equal file: no times are stored. Every function throws IoError.
class FileBuilder {
 public:
  // Creates `path`, which must not exist, with the root attributes and room for the user block.
  FileBuilder(const std::string& path, std::int64_t round);

  void begin(const std::string& name, Dtype dtype, std::span<const std::int64_t> shape);
  void append(std::span<const std::byte> bytes);  // whole elements
  void end();

  // /history/<metric>: float64, chunked, so that other programs can extend a copy.
  void add_history(const std::string& metric, std::span<const double> values);
  // /provenance/<key>: the text's bytes.
  void add_provenance(const std::string& key, const std::string& text);

  void close();

 private:
  // The dataset between begin() and end().
  struct Open {
    hdf5::Handle dataset;
    Dtype dtype = Dtype::float32;
    std::vector<std::int64_t> shape;
    std::uint64_t done = 0;  // elements
    Hasher hasher;
  };

  void begin_with(const std::string& name, Dtype dtype, std::span<const std::int64_t> shape, hid_t space,
                  hid_t creation);
  void make_parents(const std::string& name);
  void write_attribute(hid_t object, const char* name, hid_t type, const void* value);

  hdf5::WrittenFile target_;
  hdf5::TypeTable types_;
  hdf5::Handle file_;
  hdf5::Handle link_creation_;
  hdf5::Handle group_creation_;
  std::set<std::string> groups_;
  Open open_;
};

}  // namespace lockstep::checkpoint
