#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lockstep/core/error.hpp"
#include "lockstep/nn/initialization.hpp"

namespace lockstep::nn {
namespace {

at::Tensor orthogonal(at::IntArrayRef shape, double gain, std::uint64_t seed, const std::string& name) {
  at::Tensor weight = at::empty(shape, at::kDouble);
  orthogonal_(weight, gain, seed, name);
  return weight;
}

void expect_scaled_identity(const at::Tensor& product, double scale) {
  const at::Tensor identity = at::eye(product.size(0), at::kDouble) * scale;
  EXPECT_LE((product - identity).abs().max().item<double>(), 1e-12);
}

TEST(Orthogonal, TallWideAndSquareAreOrthogonalTimesGain) {
  const at::Tensor tall = orthogonal({9, 4}, 1.5, 7, "w");
  expect_scaled_identity(tall.t().mm(tall), 2.25);
  const at::Tensor wide = orthogonal({1, 6}, 0.01, 7, "w");
  expect_scaled_identity(wide.mm(wide.t()), 1e-4);
  const at::Tensor square = orthogonal({5, 5}, 1.0, 7, "w");
  expect_scaled_identity(square.mm(square.t()), 1.0);
}

TEST(Orthogonal, DependsOnSeedAndNameAlone) {
  const at::Tensor first = orthogonal({6, 4}, 1, 3, "actor.0.weight");
  orthogonal({6, 4}, 1, 3, "actor.2.weight");
  EXPECT_TRUE(at::equal(orthogonal({6, 4}, 1, 3, "actor.0.weight"), first));
  EXPECT_FALSE(at::equal(orthogonal({6, 4}, 1, 3, "actor.2.weight"), first));
  EXPECT_FALSE(at::equal(orthogonal({6, 4}, 1, 4, "actor.0.weight"), first));
}

TEST(Orthogonal, HasNoPreferredDirection) {
  // Without the signs of R's diagonal, LAPACK's Householder vectors would fix the sign of the first entries.
  int positive = 0;
  for (int seed = 0; seed < 400; ++seed) {
    positive += orthogonal({4, 4}, 1, seed, "w")[0][0].item<double>() > 0 ? 1 : 0;
  }
  EXPECT_GT(positive, 150);
  EXPECT_LT(positive, 250);
}

TEST(Orthogonal, WritesFloat32AndRefusesVectors) {
  const at::Tensor weight = at::empty({3, 3}).requires_grad_();
  orthogonal_(weight, 1.0, 1, "w");
  EXPECT_TRUE(at::allclose(weight.detach(), orthogonal({3, 3}, 1.0, 1, "w").to(at::kFloat)));
  EXPECT_THROW(orthogonal_(at::empty({3}), 1.0, 1, "w"), ContractError);
}

}  // namespace
}  // namespace lockstep::nn
