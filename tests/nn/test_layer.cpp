// The loops and products under an Mlp: bits and bounds that the networks' own tests would not show.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "nn/kernels.hpp"
#include "nn/layer.hpp"
#include "nn/multiply.hpp"

namespace lockstep::nn {
namespace {

at::Tensor normals(at::IntArrayRef shape, at::ScalarType type, std::uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  return at::randn(shape, generator, at::TensorOptions(type));
}

float tanh_of(float x) {
  tanh_in_place(&x, 1);
  return x;
}

// Distance to the exact value in units of the last place of the nearest float.
double error_in_units(float value, float x) {
  const double exact = std::tanh(static_cast<double>(x));
  const auto nearest = static_cast<float>(exact);
  const double unit = std::abs(static_cast<double>(nearest) - std::nextafter(nearest, 0.0f));
  return std::abs(value - exact) / unit;
}

TEST(Tanh, IsWithinOneAndAHalfUnitsInTheLastPlace) {
  std::vector<float> x;
  for (std::uint32_t bits = 1; bits < 0x7f800000u; bits += 4001) x.push_back(std::bit_cast<float>(bits));
  std::vector<float> y = x;
  tanh_in_place(y.data(), y.size());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, error_in_units(y[i], x[i]));
  EXPECT_LE(worst, 1.5);
  EXPECT_GT(x.size(), 500000u);
}

TEST(Tanh, IsOddAndRightAtItsEnds) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(std::bit_cast<std::uint32_t>(tanh_of(0.0f)), 0u);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(tanh_of(-0.0f)), 0x80000000u);
  for (const float x : {9.02f, 10.0f, 88.0f, 1e30f, infinity}) {
    EXPECT_EQ(tanh_of(x), 1.0f) << x;
    EXPECT_EQ(tanh_of(-x), -1.0f) << x;
  }
  for (const float x : {1e-42f, 1e-30f, 0.3f, 0.625f, 2.0f, 8.9f}) EXPECT_EQ(tanh_of(-x), -tanh_of(x)) << x;
  EXPECT_TRUE(std::isnan(tanh_of(std::numeric_limits<float>::quiet_NaN())));
}

TEST(Tanh, BitsDependNeitherOnPlaceNorOnCount) {
  const at::Tensor x = normals({67}, at::kFloat, 1) * 3;
  for (std::int64_t begin = 0; begin < 17; ++begin) {
    at::Tensor part = x.slice(0, begin).clone();
    tanh_in_place(part.data_ptr<float>(), static_cast<std::size_t>(part.numel()));
    for (std::int64_t i = 0; i < part.numel(); ++i) {
      EXPECT_EQ(part[i].item<float>(), tanh_of(x[begin + i].item<float>())) << begin << " + " << i;
    }
  }
}

TEST(Kernels, SlopesAndColumnSums) {
  const at::Tensor output = at::tanh(normals({37, 5}, at::kFloat, 2)),
                   upstream = normals({37, 5}, at::kFloat, 3);
  at::Tensor gradient = upstream.clone();
  through_activation(gradient, output, Activation::tanh);
  EXPECT_TRUE(at::equal(gradient, upstream * (1 - output * output)));
  const at::Tensor exact = upstream.to(at::kDouble).sum(0);
  EXPECT_TRUE(at::equal(column_sums(upstream), exact.to(at::kFloat)));
  at::Tensor relu_gradient = upstream.clone();
  through_activation(relu_gradient, output, Activation::relu);
  EXPECT_TRUE(at::equal(relu_gradient, upstream * (output > 0)));
}

// Not nearly: at::mm's own bits, for every way that layers multiply.
TEST(Multiply, GivesTheBitsOfMm) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    for (const std::int64_t rows : {1, 3, 4, 8, 31, 128}) {
      for (const auto& [inputs, outputs] :
           {std::pair{4, 64}, {64, 64}, {64, 2}, {64, 1}, {1, 1}, {1, 7}, {17, 33}}) {
        const at::Tensor x = normals({rows, inputs}, type, 4), weight = normals({outputs, inputs}, type, 5);
        const at::Tensor bias = normals({outputs}, type, 6), gradient = normals({rows, outputs}, type, 7);
        const std::string where = c10::str(type, " ", rows, " ", inputs, " ", outputs);
        EXPECT_TRUE(at::equal(affine(x, weight, bias), at::addmm(bias, x, weight.t()))) << where;
        EXPECT_TRUE(at::equal(product(gradient, weight), at::mm(gradient, weight))) << where;
        EXPECT_TRUE(at::equal(transposed_product(gradient, x), at::mm(gradient.t(), x))) << where;
      }
    }
  }
}

TEST(Multiply, OverNothingIsZero) {
  EXPECT_TRUE(at::equal(transposed_product(at::zeros({0, 3}), at::zeros({0, 4})), at::zeros({3, 4})));
  EXPECT_EQ(product(at::zeros({0, 3}), at::zeros({3, 4})).sizes(), (std::vector<std::int64_t>{0, 4}));
}

}  // namespace
}  // namespace lockstep::nn
