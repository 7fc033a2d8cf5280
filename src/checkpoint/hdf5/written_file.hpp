// A file that HDF5 writes through us. HDF5 cannot close a file whose last writes fail: the descriptor leaks
// and the library crashes at exit (seen with 1.10.8). So it is never told: the first failure is kept here,
// what it writes afterwards is dropped, and whoever drives it asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "checkpoint/hdf5/handle.hpp"
#include "lockstep/core/posix_file.hpp"

namespace lockstep::checkpoint::hdf5 {

class WrittenFile {
 public:
  // Creates `path`, which must not exist. Throws IoError.
  explicit WrittenFile(const std::string& path);
  WrittenFile(const WrittenFile&) = delete;  // HDF5 holds its address
  WrittenFile& operator=(const WrittenFile&) = delete;

  // Access properties for H5Fcreate that lead here; this object must outlive the HDF5 file.
  Handle access();
  // Throws the first failure, an IoError, if there was one.
  void check() const;

  // For the driver. They never throw: failures are kept.
  void write(std::uint64_t offset, std::span<const std::byte> bytes) noexcept;
  void read(std::uint64_t offset, std::span<std::byte> out) noexcept;  // zeros beyond the end
  void truncate(std::uint64_t length) noexcept;

 private:
  template <class Call>
  void attempt(Call&& call) noexcept;

  PosixFile file_;
  std::string failure_;
};

}  // namespace lockstep::checkpoint::hdf5
