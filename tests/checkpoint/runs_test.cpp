#include "checkpoint/hdf5/runs.hpp"

#include <gtest/gtest.h>

namespace lockstep::checkpoint::hdf5 {
namespace {

// The flat indices of a box's elements, in row-major order.
void append_indices(std::span<const std::int64_t> shape, const Box& box,
                    std::vector<std::uint64_t>& indices) {
  std::vector<hsize_t> at(shape.size(), 0);
  while (true) {
    std::uint64_t flat = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      flat = flat * static_cast<std::uint64_t>(shape[d]) + box.start[d] + at[d];
    }
    indices.push_back(flat);
    std::size_t d = shape.size();
    while (d > 0 && ++at[d - 1] == box.count[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

TEST(Runs, EveryRunOfSmallShapesIsMadeOfItsBoxesInOrder) {
  const std::vector<std::vector<std::int64_t>> shapes{{1},       {7},          {3, 5},
                                                      {2, 3, 4}, {1, 4, 1, 3}, {2, 2, 2, 2}};
  for (const auto& shape : shapes) {
    std::uint64_t n = 1;
    for (const auto extent : shape) n *= static_cast<std::uint64_t>(extent);
    for (std::uint64_t offset = 0; offset < n; ++offset) {
      for (std::uint64_t length = 1; length <= n - offset; ++length) {
        const auto boxes = boxes_of_run(shape, offset, length);
        EXPECT_LE(boxes.size(), 2 * shape.size() - 1);
        std::vector<std::uint64_t> indices;
        for (const Box& box : boxes) append_indices(shape, box, indices);
        ASSERT_EQ(indices.size(), length);
        for (std::uint64_t i = 0; i < length; ++i) ASSERT_EQ(indices[i], offset + i);
      }
    }
  }
}

TEST(Runs, WholeRowsAreOneBox) {
  const std::vector<std::int64_t> shape{100, 8, 4};
  EXPECT_EQ(boxes_of_run(shape, 32, 64 * 32).size(), 1);
  EXPECT_EQ(boxes_of_run(shape, 28, 64 * 32).size(), 3);  // a row of 4, planes, rows of 4
}

}  // namespace
}  // namespace lockstep::checkpoint::hdf5
