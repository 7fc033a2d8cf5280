#include "checkpoint/hdf5/runs.hpp"

#include <algorithm>
#include <numeric>

#include "checkpoint/hdf5/check.hpp"
#include "checkpoint/hdf5/handle.hpp"

namespace lockstep::checkpoint::hdf5 {
namespace {

std::uint64_t product(std::span<const std::int64_t> extents) {
  return std::accumulate(
      extents.begin(), extents.end(), std::uint64_t{1},
      [](std::uint64_t n, std::int64_t extent) { return n * static_cast<std::uint64_t>(extent); });
}

// Cuts a run at the rows of one dimension after another: a partial first row, whole rows, a partial last row.
class RunCutter {
 public:
  explicit RunCutter(std::span<const std::int64_t> shape) : shape_(shape), start_(shape.size(), 0) {}

  void cut(std::size_t dimension, std::uint64_t offset, std::uint64_t length) {
    const std::uint64_t row = product(shape_.subspan(dimension + 1));
    const std::uint64_t head = std::min(length, (row - offset % row) % row);
    start_[dimension] = offset / row;
    if (head > 0) cut(dimension + 1, offset % row, head);
    const std::uint64_t first = (offset + head) / row;
    const std::uint64_t rows = (length - head) / row;
    const std::uint64_t tail = (length - head) % row;
    start_[dimension] = first;
    if (rows > 0) emit(dimension, rows);
    start_[dimension] = first + rows;
    if (tail > 0) cut(dimension + 1, 0, tail);
  }

  std::vector<Box> take() { return std::move(boxes_); }

 private:
  void emit(std::size_t dimension, std::uint64_t rows) {
    Box box{start_, std::vector<hsize_t>(shape_.size(), 1)};
    box.count[dimension] = rows;
    for (std::size_t d = dimension + 1; d < shape_.size(); ++d) {
      box.start[d] = 0;
      box.count[d] = static_cast<hsize_t>(shape_[d]);
    }
    boxes_.push_back(std::move(box));
  }

  std::span<const std::int64_t> shape_;
  std::vector<hsize_t> start_;
  std::vector<Box> boxes_;
};

// Calls transfer(memory space, file space, elements done before) for a run's boxes; the whole dataset is one
// call.
template <class Transfer>
void for_each_part(hid_t dataset, std::span<const std::int64_t> shape, std::uint64_t offset,
                   std::uint64_t length, Transfer&& transfer) {
  if (length == 0) return;
  if (length == product(shape)) return transfer(H5S_ALL, H5S_ALL, std::uint64_t{0});
  const Handle file_space(LOCKSTEP_HDF5(H5Dget_space(dataset)), H5Sclose);
  std::uint64_t done = 0;
  for (const Box& box : boxes_of_run(shape, offset, length)) {
    LOCKSTEP_HDF5(H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, box.start.data(), nullptr,
                                      box.count.data(), nullptr));
    const auto elements = static_cast<hsize_t>(LOCKSTEP_HDF5(H5Sget_select_npoints(file_space.get())));
    const Handle memory_space(LOCKSTEP_HDF5(H5Screate_simple(1, &elements, nullptr)), H5Sclose);
    transfer(memory_space.get(), file_space.get(), done);
    done += elements;
  }
}

}  // namespace

std::vector<Box> boxes_of_run(std::span<const std::int64_t> shape, std::uint64_t offset,
                              std::uint64_t length) {
  RunCutter cutter(shape);
  if (length > 0) cutter.cut(0, offset, length);
  return cutter.take();
}

void write_run(hid_t dataset, hid_t type, std::span<const std::int64_t> shape, std::uint64_t offset,
               std::uint64_t length, const std::byte* from) {
  const std::size_t width = H5Tget_size(type);
  for_each_part(dataset, shape, offset, length, [&](hid_t memory, hid_t file, std::uint64_t done) {
    LOCKSTEP_HDF5(H5Dwrite(dataset, type, memory, file, H5P_DEFAULT, from + done * width));
  });
}

void read_run(hid_t dataset, hid_t type, std::span<const std::int64_t> shape, std::uint64_t offset,
              std::uint64_t length, std::byte* to) {
  const std::size_t width = H5Tget_size(type);
  for_each_part(dataset, shape, offset, length, [&](hid_t memory, hid_t file, std::uint64_t done) {
    LOCKSTEP_HDF5(H5Dread(dataset, type, memory, file, H5P_DEFAULT, to + done * width));
  });
}

}  // namespace lockstep::checkpoint::hdf5
