#include "checkpoint/hdf5/written_file.hpp"

#include <fcntl.h>
#include <hdf5.h>
#if H5_VERSION_GE(1, 13, 1)
#include <H5FDdevelop.h>
#endif

#include <algorithm>
#include <new>

#include "checkpoint/hdf5/check.hpp"
#include "checkpoint/hdf5/conventions.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::checkpoint::hdf5 {
namespace {

// What HDF5 holds of an open file; its own part comes first.
struct DriverFile {
  H5FD_t base;
  WrittenFile* file;
  haddr_t end_of_space;  // allocated by HDF5
  haddr_t end_of_file;
};

DriverFile& mine(H5FD_t* file) {
  return *reinterpret_cast<DriverFile*>(file);
}
const DriverFile& mine(const H5FD_t* file) {
  return *reinterpret_cast<const DriverFile*>(file);
}

H5FD_t* open_file(const char*, unsigned, hid_t access, haddr_t) {
  const auto* file = static_cast<WrittenFile* const*>(H5Pget_driver_info(access));
  auto* opened = new (std::nothrow) DriverFile{};
  if (opened == nullptr) return nullptr;
  opened->file = *file;
  return &opened->base;
}

herr_t close_file(H5FD_t* file) {
  delete &mine(file);
  return 0;
}

// The same as HDF5's own driver for plain files: small metadata and raw data are gathered into larger writes.
herr_t query(const H5FD_t*, unsigned long* features) {
  *features = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
              H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t end_of_space(const H5FD_t* file, H5FD_mem_t) {
  return mine(file).end_of_space;
}
haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) {
  return mine(file).end_of_file;
}

herr_t set_end_of_space(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  mine(file).end_of_space = address;
  return 0;
}

herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* to) {
  mine(file).file->read(address, {static_cast<std::byte*>(to), size});
  return 0;
}

herr_t write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size, const void* from) {
  mine(file).file->write(address, {static_cast<const std::byte*>(from), size});
  mine(file).end_of_file = std::max(mine(file).end_of_file, address + size);
  return 0;
}

herr_t truncate(H5FD_t* file, hid_t, hbool_t) {
  DriverFile& open = mine(file);
  if (open.end_of_file != open.end_of_space) open.file->truncate(open.end_of_space);
  open.end_of_file = open.end_of_space;
  return 0;
}

H5FD_class_t driver_class() {
  H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 1)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(H5_VFD_RESERVED + 76);
#endif
  driver.name = "lockstep";
  driver.maxaddr = (haddr_t{1} << 62) - 1;
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.fapl_size = sizeof(WrittenFile*);
  driver.open = open_file;
  driver.close = close_file;
  driver.query = query;
  driver.get_eoa = end_of_space;
  driver.set_eoa = set_end_of_space;
  driver.get_eof = end_of_file;
  driver.read = read;
  driver.write = write;
  driver.truncate = truncate;
  const H5FD_mem_t map[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(map), std::end(map), driver.fl_map);
  return driver;
}

// Registered once; HDF5 lets go of it when the process ends.
hid_t driver() {
  static const H5FD_class_t description = driver_class();
  static const hid_t id = LOCKSTEP_HDF5(H5FDregister(&description));
  return id;
}

}  // namespace

WrittenFile::WrittenFile(const std::string& path) : file_(path, O_RDWR | O_CREAT | O_EXCL) {}

Handle WrittenFile::access() {
  Handle access = file_access();
  const WrittenFile* self = this;
  LOCKSTEP_HDF5(H5Pset_driver(access.get(), driver(), static_cast<const void*>(&self)));
  return access;
}

void WrittenFile::check() const {
  if (!failure_.empty()) throw IoError(failure_);
}

template <class Call>
void WrittenFile::attempt(Call&& call) noexcept {
  if (!failure_.empty()) return;
  try {
    call();
  } catch (const IoError& error) {
    failure_ = error.what();
  }
}

void WrittenFile::write(std::uint64_t offset, std::span<const std::byte> bytes) noexcept {
  attempt([&] { file_.write_at(offset, bytes); });
}

void WrittenFile::read(std::uint64_t offset, std::span<std::byte> out) noexcept {
  std::size_t got = 0;
  attempt([&] { got = file_.read_at(offset, out); });
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(got), out.end(), std::byte{0});
}

void WrittenFile::truncate(std::uint64_t length) noexcept {
  attempt([&] { file_.truncate(length); });
}

}  // namespace lockstep::checkpoint::hdf5
