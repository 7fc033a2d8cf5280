// Runs of a row-major flattened dataset, which HDF5 can only reach as boxes (hyperslabs).
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace lockstep::checkpoint::hdf5 {

// A box of a dataset: start and count in each dimension.
struct Box {
  std::vector<hsize_t> start;
  std::vector<hsize_t> count;
};

// The boxes, at most 2 * rank - 1, that make up elements [offset, offset + length) of a dataset of `shape`
// (not a scalar), in row-major order. The run must lie within the dataset.
std::vector<Box> boxes_of_run(std::span<const std::int64_t> shape, std::uint64_t offset,
                              std::uint64_t length);

// Move elements [offset, offset + length) of an open dataset between file and memory; `type` is both sides'
// type. Throw IoError.
void write_run(hid_t dataset, hid_t type, std::span<const std::int64_t> shape, std::uint64_t offset,
               std::uint64_t length, const std::byte* from);
void read_run(hid_t dataset, hid_t type, std::span<const std::int64_t> shape, std::uint64_t offset,
              std::uint64_t length, std::byte* to);

}  // namespace lockstep::checkpoint::hdf5
