#include "checkpoint/file_builder.hpp"

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

// Values of a history dataset that are stored together; a short history takes one chunk of its own length.
constexpr hsize_t history_chunk = 8192;

Handle properties(hid_t kind) {
  return Handle(LOCKSTEP_HDF5(H5Pcreate(kind)), H5Pclose);
}

Handle create_file(const std::string& path, hdf5::WrittenFile& target) {
  const Handle creation = properties(H5P_FILE_CREATE);
  LOCKSTEP_HDF5(H5Pset_userblock(creation.get(), user_block_bytes));
  LOCKSTEP_HDF5(H5Pset_obj_track_times(creation.get(), false));
  const Handle access = target.access();
  return Handle(LOCKSTEP_HDF5(H5Fcreate(path.c_str(), H5F_ACC_EXCL, creation.get(), access.get())), H5Fclose);
}

Handle group_properties() {
  Handle creation = properties(H5P_GROUP_CREATE);
  LOCKSTEP_HDF5(H5Pset_obj_track_times(creation.get(), false));
  return creation;
}

Handle link_properties() {
  Handle creation = properties(H5P_LINK_CREATE);
  LOCKSTEP_HDF5(H5Pset_char_encoding(creation.get(), H5T_CSET_UTF8));
  return creation;
}

// Every element is written, so no fill values are.
Handle dataset_properties() {
  Handle creation = properties(H5P_DATASET_CREATE);
  LOCKSTEP_HDF5(H5Pset_obj_track_times(creation.get(), false));
  LOCKSTEP_HDF5(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER));
  return creation;
}

Handle chunked_properties(hsize_t chunk) {
  Handle creation = properties(H5P_DATASET_CREATE);
  LOCKSTEP_HDF5(H5Pset_obj_track_times(creation.get(), false));
  LOCKSTEP_HDF5(H5Pset_chunk(creation.get(), 1, &chunk));
  return creation;
}

Handle data_space(std::span<const std::int64_t> shape) {
  if (shape.empty()) return Handle(LOCKSTEP_HDF5(H5Screate(H5S_SCALAR)), H5Sclose);
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  return Handle(LOCKSTEP_HDF5(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr)),
                H5Sclose);
}

Handle extensible_space(hsize_t length) {
  const hsize_t unlimited = H5S_UNLIMITED;
  return Handle(LOCKSTEP_HDF5(H5Screate_simple(1, &length, &unlimited)), H5Sclose);
}

}  // namespace

FileBuilder::FileBuilder(const std::string& path, std::int64_t round)
    : target_(path),
      file_(create_file(path, target_)),
      link_creation_(link_properties()),
      group_creation_(group_properties()) {
  const Handle root(LOCKSTEP_HDF5(H5Gopen2(file_.get(), "/", H5P_DEFAULT)), H5Gclose);
  write_attribute(root.get(), hdf5::version_attribute, types_.type(Dtype::int64), &format_version);
  write_attribute(root.get(), hdf5::round_attribute, types_.type(Dtype::int64), &round);
}

void FileBuilder::begin(const std::string& name, Dtype dtype, std::span<const std::int64_t> shape) {
  begin_with(name, dtype, shape, data_space(shape).get(), dataset_properties().get());
}

void FileBuilder::begin_with(const std::string& name, Dtype dtype, std::span<const std::int64_t> shape,
                             hid_t space, hid_t creation) {
  make_parents(name);
  Handle dataset(LOCKSTEP_HDF5(H5Dcreate2(file_.get(), name.c_str(), types_.type(dtype), space,
                                          link_creation_.get(), creation, H5P_DEFAULT)),
                 H5Dclose);
  open_ = Open{std::move(dataset), dtype, {shape.begin(), shape.end()}, 0, Hasher()};
}

void FileBuilder::append(std::span<const std::byte> bytes) {
  const std::uint64_t elements = bytes.size() / size_of(open_.dtype);
  hdf5::write_run(open_.dataset.get(), types_.type(open_.dtype), open_.shape, open_.done, elements,
                  bytes.data());
  target_.check();
  open_.hasher.update(bytes);
  open_.done += elements;
}

void FileBuilder::end() {
  const std::string digest = open_.hasher.digest().hex();
  write_attribute(open_.dataset.get(), hdf5::hash_attribute, hdf5::fixed_text(hdf5::hash_digits).get(),
                  digest.data());
  open_.dataset.close();
}

void FileBuilder::add_history(const std::string& metric, std::span<const double> values) {
  const std::int64_t shape[] = {static_cast<std::int64_t>(values.size())};
  const hsize_t chunk = std::clamp<hsize_t>(values.size(), 1, history_chunk);
  begin_with("history/" + escape_name(metric), Dtype::float64, shape, extensible_space(values.size()).get(),
             chunked_properties(chunk).get());
  append(std::as_bytes(values));
  end();
}

void FileBuilder::add_provenance(const std::string& key, const std::string& text) {
  const std::int64_t shape[] = {static_cast<std::int64_t>(text.size())};
  begin("provenance/" + escape_name(key), Dtype::uint8, shape);
  append(as_bytes(text));
  end();
}

void FileBuilder::close() {
  link_creation_.close();
  group_creation_.close();
  file_.close();
  target_.check();
}

// Groups are made one by one: HDF5's own intermediate groups would store their times.
void FileBuilder::make_parents(const std::string& name) {
  for (auto slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    const std::string group = name.substr(0, slash);
    if (!groups_.insert(group).second) continue;
    Handle(LOCKSTEP_HDF5(H5Gcreate2(file_.get(), group.c_str(), link_creation_.get(), group_creation_.get(),
                                    H5P_DEFAULT)),
           H5Gclose)
        .close();
  }
}

void FileBuilder::write_attribute(hid_t object, const char* name, hid_t type, const void* value) {
  const Handle space(LOCKSTEP_HDF5(H5Screate(H5S_SCALAR)), H5Sclose);
  const Handle attribute(LOCKSTEP_HDF5(H5Acreate2(object, name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT)),
                         H5Aclose);
  LOCKSTEP_HDF5(H5Awrite(attribute.get(), type, value));
}

}  // namespace lockstep::checkpoint
