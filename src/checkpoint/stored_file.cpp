#include "checkpoint/stored_file.hpp"

#include <fcntl.h>

#include <algorithm>

#include "checkpoint/hdf5/check.hpp"
#include "checkpoint/hdf5/conventions.hpp"
#include "checkpoint/hdf5/runs.hpp"
#include "checkpoint/user_block.hpp"
#include "lockstep/checkpoint/contents.hpp"
#include "lockstep/core/posix_file.hpp"

namespace lockstep::checkpoint {
namespace {

using hdf5::Handle;

constexpr std::uint64_t hash_piece_bytes = 1u << 20;

std::vector<std::int64_t> shape_of(hid_t dataset) {
  const Handle space(LOCKSTEP_HDF5(H5Dget_space(dataset)), H5Sclose);
  const int rank = LOCKSTEP_HDF5(H5Sget_simple_extent_ndims(space.get()));
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  LOCKSTEP_HDF5(H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr));
  return {extents.begin(), extents.end()};
}

// Name of the i-th link in the order of the group's own index, which is the only one that is not sorted anew
// each time.
std::string link_name(hid_t group, hsize_t i) {
  const auto length = LOCKSTEP_HDF5(
      H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_NATIVE, i, nullptr, 0, H5P_DEFAULT));
  std::string name(static_cast<std::size_t>(length), '\0');
  LOCKSTEP_HDF5(H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_NATIVE, i, name.data(), name.size() + 1,
                                   H5P_DEFAULT));
  return name;
}

}  // namespace

void StoredDataset::read(std::uint64_t offset, std::uint64_t length, std::byte* to) const {
  if (offset > elements_ || length > elements_ - offset) {
    throw ContractError("elements " + std::to_string(offset) + " to " + std::to_string(offset + length) +
                        " of " + info_.name + " were asked for; it has " + std::to_string(elements_));
  }
  hdf5::read_run(dataset_.get(), type_, info_.shape, offset, length, to);
}

std::vector<std::byte> StoredDataset::read_whole() const {
  std::vector<std::byte> bytes(elements_ * size_of(info_.dtype));
  read(0, elements_, bytes.data());
  return bytes;
}

std::string StoredDataset::stored_hash() const {
  const Handle attribute(LOCKSTEP_HDF5(H5Aopen(dataset_.get(), hdf5::hash_attribute, H5P_DEFAULT)), H5Aclose);
  const Handle type = hdf5::fixed_text(hdf5::hash_digits);
  const Handle stored(LOCKSTEP_HDF5(H5Aget_type(attribute.get())), H5Tclose);
  if (LOCKSTEP_HDF5(H5Tequal(stored.get(), type.get())) == 0) {
    throw IoError("attribute xxh3_128 of " + info_.name + " is not a fixed-length text of 32 characters");
  }
  std::string digits(hdf5::hash_digits, '\0');
  LOCKSTEP_HDF5(H5Aread(attribute.get(), type.get(), digits.data()));
  return digits;
}

Hash128 StoredDataset::computed_hash() const {
  Hasher hasher;
  const std::uint64_t piece = hash_piece_bytes / size_of(info_.dtype);
  std::vector<std::byte> buffer(std::min(piece, elements_) * size_of(info_.dtype));
  for (std::uint64_t offset = 0; offset < elements_; offset += piece) {
    const std::uint64_t length = std::min(piece, elements_ - offset);
    read(offset, length, buffer.data());
    hasher.update(std::span<const std::byte>(buffer).first(length * size_of(info_.dtype)));
  }
  return hasher.digest();
}

StoredFile::StoredFile(const std::string& path) : path_(path) {
  guarded([&] {
    bytes_ = PosixFile(path, O_RDONLY).size();
    const Handle access = hdf5::file_access();
    file_ = Handle(LOCKSTEP_HDF5(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get())), H5Fclose);
  });
}

std::int64_t StoredFile::root_attribute(const char* name) const {
  return guarded([&] {
    const Handle attribute(LOCKSTEP_HDF5(H5Aopen_by_name(file_.get(), "/", name, H5P_DEFAULT, H5P_DEFAULT)),
                           H5Aclose);
    const Handle space(LOCKSTEP_HDF5(H5Aget_space(attribute.get())), H5Sclose);
    if (LOCKSTEP_HDF5(H5Sget_simple_extent_npoints(space.get())) != 1) {
      refuse(std::string("attribute ") + name + " is not one number");
    }
    std::int64_t value = 0;
    LOCKSTEP_HDF5(H5Aread(attribute.get(), H5T_NATIVE_INT64, &value));
    return value;
  });
}

std::vector<DatasetInfo> StoredFile::list(const std::string& group) const {
  std::vector<DatasetInfo> found;
  guarded([&] {
    if (LOCKSTEP_HDF5(H5Lexists(file_.get(), group.c_str(), H5P_DEFAULT)) == 0) return;
    const Handle opened(LOCKSTEP_HDF5(H5Gopen2(file_.get(), group.c_str(), H5P_DEFAULT)), H5Gclose);
    walk(opened.get(), group, found);
  });
  std::sort(found.begin(), found.end(),
            [](const DatasetInfo& a, const DatasetInfo& b) { return a.name < b.name; });
  return found;
}

StoredDataset StoredFile::open(const std::string& name) const {
  return guarded([&] {
    return describe(Handle(LOCKSTEP_HDF5(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT)), H5Dclose), name);
  });
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the file's groups.
void StoredFile::walk(hid_t group, const std::string& name, std::vector<DatasetInfo>& found) const {
  H5G_info_t info{};
  LOCKSTEP_HDF5(H5Gget_info(group, &info));
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    const std::string part = link_name(group, i);
    const std::string full = name + "/" + part;
    Handle object(LOCKSTEP_HDF5(H5Oopen(group, part.c_str(), H5P_DEFAULT)), H5Oclose);
    const H5I_type_t kind = H5Iget_type(object.get());
    if (kind == H5I_GROUP) {
      walk(object.get(), full, found);
    } else if (kind == H5I_DATASET) {
      found.push_back(describe(std::move(object), full).info());
    } else {
      refuse("/" + full + " is neither a group nor a dataset");
    }
  }
}

StoredDataset StoredFile::describe(Handle dataset, const std::string& name) const {
  StoredDataset described;
  const Handle type(LOCKSTEP_HDF5(H5Dget_type(dataset.get())), H5Tclose);
  const auto dtype = types_.recognise(type.get());
  if (!dtype) refuse("/" + name + " has an element type that Lockstep does not write");
  described.info_ = {name, *dtype, shape_of(dataset.get())};
  described.type_ = types_.type(*dtype);
  described.dataset_ = std::move(dataset);
  // No dataset is larger than its file, so a wild shape is refused before memory is asked for.
  const std::uint64_t most = bytes_ / size_of(*dtype);
  const auto& shape = described.info_.shape;
  described.elements_ = std::find(shape.begin(), shape.end(), 0) == shape.end() ? 1 : 0;
  for (const std::int64_t extent : shape) {
    if (extent < 0 ||
        (described.elements_ > 0 && static_cast<std::uint64_t>(extent) > most / described.elements_)) {
      refuse("/" + name + " claims more elements than the file has room for");
    }
    described.elements_ *= static_cast<std::uint64_t>(extent);
  }
  return described;
}

void StoredFile::refuse(const std::string& why) const {
  throw CheckpointError("checkpoint " + path_ + " cannot be used: " + why);
}

StoredFile open_checkpoint(const std::string& path, bool trust_body) {
  check_whole_file(path, trust_body);
  StoredFile file(path);
  if (const std::int64_t version = file.root_attribute(hdf5::version_attribute); version != format_version) {
    throw CheckpointError("checkpoint " + path + " has format version " + std::to_string(version) +
                          "; this program reads version " + std::to_string(format_version));
  }
  return file;
}

}  // namespace lockstep::checkpoint
