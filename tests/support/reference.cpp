#include "support/reference.hpp"

#include <hdf5.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <stdexcept>

namespace lockstep::test {
namespace {

// One HDF5 id and the function that closes it.
class Id {
 public:
  Id(hid_t id, herr_t (*close)(hid_t), const std::string& what) : id_(id), close_(close) {
    if (id < 0) throw std::runtime_error("reference: cannot read " + what);
  }
  ~Id() { close_(id_); }
  Id(const Id&) = delete;
  Id& operator=(const Id&) = delete;
  operator hid_t() const noexcept { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// HDF5 prints a stack for each failed probe; these reads report by exception instead.
void silence_hdf5() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

std::vector<std::int64_t> shape_of(hid_t space) {
  std::vector<hsize_t> extents(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  return {extents.begin(), extents.end()};
}

template <class T>
ReferenceArray<T> read(hid_t file, const std::string& path, hid_t memory_type, const std::string& what) {
  const Id dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose, what);
  const Id space(H5Dget_space(dataset), H5Sclose, what);
  ReferenceArray<T> array;
  array.shape = shape_of(space);
  array.values.resize(static_cast<std::size_t>(
      std::accumulate(array.shape.begin(), array.shape.end(), std::int64_t{1}, std::multiplies<>())));
  if (!array.values.empty() &&
      H5Dread(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.values.data()) < 0) {
    throw std::runtime_error("reference: cannot convert " + what);
  }
  return array;
}

std::vector<std::string> children(hid_t file, const std::string& group, H5O_type_t type,
                                  const std::string& what) {
  const Id id(H5Gopen2(file, group.c_str(), H5P_DEFAULT), H5Gclose, what);
  H5G_info_t info;
  if (H5Gget_info(id, &info) < 0) throw std::runtime_error("reference: cannot list " + what);
  std::vector<std::string> names;
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    const ssize_t length =
        H5Lget_name_by_idx(id, ".", H5_INDEX_NAME, H5_ITER_INC, i, nullptr, 0, H5P_DEFAULT);
    std::string name(static_cast<std::size_t>(length), '\0');
    H5Lget_name_by_idx(id, ".", H5_INDEX_NAME, H5_ITER_INC, i, name.data(), name.size() + 1, H5P_DEFAULT);
    const Id child(H5Oopen(id, name.c_str(), H5P_DEFAULT), H5Oclose, what + "/" + name);
    const H5I_type_t kind = H5Iget_type(child);
    if ((kind == H5I_GROUP) == (type == H5O_TYPE_GROUP)) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

std::string ReferenceFile::folder() {
  const char* set = std::getenv("LOCKSTEP_REFERENCE_DIR");
  return set != nullptr && *set != '\0' ? set : "tests/data";
}

bool ReferenceFile::exists(const std::string& name) {
  return std::filesystem::exists(folder() + "/" + name);
}

ReferenceFile::ReferenceFile(const std::string& name) : path_(folder() + "/" + name) {
  silence_hdf5();
  file_ = H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file_ < 0) {
    throw std::runtime_error("reference: cannot open " + path_ +
                             "; set LOCKSTEP_REFERENCE_DIR to its folder");
  }
}

ReferenceFile::~ReferenceFile() {
  H5Fclose(file_);
}

std::vector<std::string> ReferenceFile::groups(const std::string& group) const {
  return children(file_, group, H5O_TYPE_GROUP, path_ + ":" + group);
}

std::vector<std::string> ReferenceFile::datasets(const std::string& group) const {
  return children(file_, group, H5O_TYPE_DATASET, path_ + ":" + group);
}

bool ReferenceFile::contains(const std::string& path) const {
  // H5Oopen, not H5Lexists: the latter needs every parent to exist.
  const hid_t id = H5Oopen(file_, path.c_str(), H5P_DEFAULT);
  if (id < 0) return false;
  H5Oclose(id);
  return true;
}

ReferenceArray<double> ReferenceFile::doubles(const std::string& path) const {
  return read<double>(file_, path, H5T_NATIVE_DOUBLE, path_ + ":" + path);
}

ReferenceArray<std::int64_t> ReferenceFile::integers(const std::string& path) const {
  return read<std::int64_t>(file_, path, H5T_NATIVE_INT64, path_ + ":" + path);
}

ReferenceArray<bool> ReferenceFile::booleans(const std::string& path) const {
  const std::string what = path_ + ":" + path;
  const Id dataset(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose, what);
  const Id type(H5Dget_type(dataset), H5Tclose, what);
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_size(type) != 1) {
    throw std::runtime_error("reference: not a dataset of booleans: " + what);
  }
  const ReferenceArray<std::int8_t> raw = read<std::int8_t>(file_, path, type, what);
  return {raw.shape, {raw.values.begin(), raw.values.end()}};
}

double ReferenceFile::scalar(const std::string& path) const {
  const ReferenceArray<double> array = doubles(path);
  if (array.values.size() != 1) throw std::runtime_error("reference: not one element: " + path_ + ":" + path);
  return array.values.front();
}

std::vector<std::string> ReferenceFile::attributes(const std::string& path) const {
  const std::string what = path_ + ":" + path;
  const Id object(H5Oopen(file_, path.c_str(), H5P_DEFAULT), H5Oclose, what);
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* name, const H5A_info_t*, void* into) -> herr_t {
    static_cast<std::vector<std::string>*>(into)->emplace_back(name);
    return 0;
  };
  if (H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names) < 0) {
    throw std::runtime_error("reference: cannot list attributes of " + what);
  }
  return names;
}

double ReferenceFile::number(const std::string& path, const std::string& attribute) const {
  const std::string what = path_ + ":" + path + "@" + attribute;
  const Id id(H5Aopen_by_name(file_, path.c_str(), attribute.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
              what);
  double value = 0;
  if (H5Aread(id, H5T_NATIVE_DOUBLE, &value) < 0)
    throw std::runtime_error("reference: not a number: " + what);
  return value;
}

std::string ReferenceFile::text(const std::string& path, const std::string& attribute) const {
  const std::string what = path_ + ":" + path + "@" + attribute;
  const Id id(H5Aopen_by_name(file_, path.c_str(), attribute.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
              what);
  const Id type(H5Aget_type(id), H5Tclose, what);
  if (H5Tis_variable_str(type) <= 0) throw std::runtime_error("reference: not a text: " + what);
  char* raw = nullptr;
  if (H5Aread(id, type, &raw) < 0) throw std::runtime_error("reference: cannot read " + what);
  std::string value(raw);
  H5free_memory(raw);
  return value;
}

}  // namespace lockstep::test
