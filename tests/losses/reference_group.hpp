// Reading and comparing groups of torchrl_losses.h5.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "lockstep/losses/loss.hpp"
#include "support/reference.hpp"

namespace lockstep::losses {

using test::ReferenceFile;

inline at::Tensor tensor(const ReferenceFile& file, const std::string& path) {
  auto array = file.doubles(path);
  return at::from_blob(array.values.data(), array.shape, at::kDouble).clone();
}

inline void expect_close(const at::Tensor& ours, const at::Tensor& expected, const std::string& what) {
  ASSERT_TRUE(ours.defined()) << what;
  ASSERT_EQ(ours.sizes(), expected.sizes()) << what;
  if (ours.numel() == 0) return;  // which has no maximum
  const double error = ((ours - expected).abs() / (1 + expected.abs())).max().item<double>();
  EXPECT_LE(error, 1e-12) << what;
}

inline void expect_close(double ours, double expected, const std::string& what) {
  EXPECT_NEAR(ours, expected, 1e-12 * (1 + std::abs(expected))) << what;
}

// The results that the group keeps as out.<metric>, under our names.
inline Metrics out_metrics(const ReferenceFile& file, const std::string& group) {
  Metrics metrics;
  for (const std::string& dataset : file.datasets(group)) {
    if (!dataset.starts_with("out.")) continue;
    metrics[dataset == "out.ESS" ? "ess" : dataset.substr(4)] = file.scalar(group + "/" + dataset);
  }
  return metrics;
}

// Sizes of a chain of layers whose weights the file keeps as <prefix>0.weight, <prefix>2.weight, ...; the
// last two extents count, so that stacked networks serve too.
inline std::vector<std::int64_t> layer_sizes(const ReferenceFile& file, const std::string& prefix) {
  std::vector<std::int64_t> sizes;
  for (int layer = 0; file.contains(prefix + std::to_string(layer) + ".weight"); layer += 2) {
    const auto shape = file.doubles(prefix + std::to_string(layer) + ".weight").shape;
    if (sizes.empty()) sizes.push_back(shape.back());
    sizes.push_back(shape[shape.size() - 2]);
  }
  return sizes;
}
inline std::vector<std::int64_t> hidden_of(const std::vector<std::int64_t>& sizes) {
  return {sizes.begin() + 1, sizes.end() - 1};
}

}  // namespace lockstep::losses
