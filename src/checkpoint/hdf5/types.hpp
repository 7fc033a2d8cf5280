// HDF5 types of our element types: little-endian standard types, bool as h5py's enum, bfloat16 as a custom
// 16-bit float.
#pragma once

#include <array>
#include <optional>

#include "checkpoint/hdf5/handle.hpp"
#include "lockstep/core/dtype.hpp"

namespace lockstep::checkpoint::hdf5 {

class TypeTable {
 public:
  TypeTable();
  // The type in the file and in memory alike (hosts are little-endian). Lives as long as the table.
  hid_t type(Dtype dtype) const noexcept { return types_[static_cast<std::size_t>(dtype)].get(); }
  // nullopt: none of ours.
  std::optional<Dtype> recognise(hid_t type) const;

 private:
  std::array<Handle, 8> types_;
};

// Fixed-length ASCII text of `length` characters, without a terminating zero.
Handle fixed_text(std::size_t length);

}  // namespace lockstep::checkpoint::hdf5
