#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

#include "lockstep/losses/clipped_objective.hpp"
#include "lockstep/losses/value_loss.hpp"

namespace lockstep::losses {
namespace {

at::Tensor normals(std::int64_t rows, std::uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  return at::randn({rows}, generator, at::TensorOptions(at::kDouble));
}

double error(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).abs() / (1 + b.abs())).max().item<double>();
}

// Same names, same numbers, same gradients of a weighted sum of the losses.
void expect_same(const Outputs& ours, const Outputs& theirs, const std::vector<at::Tensor>& inputs,
                 double bound) {
  ASSERT_EQ(ours.size(), theirs.size());
  at::Tensor our_sum = at::zeros({}, inputs[0].options()), their_sum = our_sum;
  double weight = 1.5;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].first, theirs[i].first);
    EXPECT_EQ(ours[i].second.dim(), 0);
    EXPECT_EQ(ours[i].second.scalar_type(), theirs[i].second.scalar_type()) << ours[i].first;
    EXPECT_EQ(ours[i].second.requires_grad(), is_loss(ours[i].first)) << ours[i].first;
    EXPECT_LE(error(ours[i].second, theirs[i].second), bound) << ours[i].first;
    if (!is_loss(ours[i].first)) continue;
    our_sum = our_sum + ours[i].second * weight;
    their_sum = their_sum + theirs[i].second * weight;
    weight += 1;
  }
  const auto our_gradients = torch::autograd::grad({our_sum}, inputs);
  const auto their_gradients = torch::autograd::grad({their_sum}, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_LE(error(our_gradients[i], their_gradients[i]), bound) << "input " << i;
  }
}

TEST(ClippedObjective, OnePassAgreesWithOperators) {
  for (const auto type : {at::kDouble, at::kFloat}) {
    const at::Tensor log_prob = normals(40, 1).to(type).requires_grad_();
    const at::Tensor entropy = normals(40, 2).to(type).requires_grad_();
    const ObjectiveInputs inputs{log_prob, entropy, normals(40, 3).to(type), normals(40, 4).to(type)};
    for (const auto& [low, high] : {std::pair{0.2, 0.2}, {0.1, 0.3}, {1.0, 5.0}, {0.0, 0.0}}) {
      const ObjectiveSettings settings{50, low, high, 0.02, 0.3, 1.7};
      expect_same(clipped_objective(inputs, settings), clipped_objective_composed(inputs, settings),
                  {log_prob, entropy}, type == at::kDouble ? 1e-12 : 1e-5);
    }
  }
}

TEST(ClippedObjective, ARowAboveTheClipHasNoGradientWhenItGains) {
  // Ratios 1.5, 1.5, 0.5, 0.5, 1.1 with a gain, a loss, a gain, a loss, a gain.
  const at::Tensor log_prob = at::log(at::tensor({1.5, 1.5, 0.5, 0.5, 1.1}, at::kDouble)).requires_grad_();
  const at::Tensor advantage = at::tensor({1.0, -1.0, 1.0, -1.0, 2.0}, at::kDouble);
  const at::Tensor zeros = at::zeros({5}, at::kDouble);
  for (const auto route : {clipped_objective, clipped_objective_composed}) {
    const Outputs outputs = route({log_prob, zeros, zeros, advantage}, {1.0, 0.2, 0.2});
    EXPECT_NEAR(outputs[0].second.item<double>(), -(1.2 - 1.5 + 0.5 - 0.8 + 2.2), 1e-14);
    const at::Tensor slope = torch::autograd::grad({outputs[0].second}, {log_prob})[0];
    const std::vector<double> expected{0, 1.5, -0.5, 0, -2.2};
    for (int i = 0; i < 5; ++i) EXPECT_NEAR(slope[i].item<double>(), expected[i], 1e-14) << "row " << i;
    EXPECT_EQ(outputs[2].second.item<double>(), 4.0);  // clipped, whatever the sign of A
  }
}

TEST(ClippedObjective, NoRowsContributeNothing) {
  const at::Tensor none = at::zeros({0}, at::kDouble),
                   log_prob = at::zeros({0}, at::kDouble).requires_grad_();
  for (const auto route : {clipped_objective, clipped_objective_composed}) {
    for (const double rows : {0.0, 8.0}) {
      for (const auto& [name, value] : route({log_prob, none, none, none}, {rows, 0.2, 0.2, 0.01})) {
        EXPECT_EQ(value.item<double>(), 0.0) << name;
      }
    }
  }
}

TEST(ClippedObjective, NanIsNotHidden) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor log_prob = at::tensor({0.0, nan}, at::kDouble).requires_grad_();
  const at::Tensor zeros = at::zeros({2}, at::kDouble), ones = at::ones({2}, at::kDouble);
  const Outputs outputs = clipped_objective({log_prob, zeros, zeros, ones}, {2.0});
  EXPECT_TRUE(std::isnan(outputs[0].second.item<double>()));
  const at::Tensor slope = torch::autograd::grad({outputs[0].second}, {log_prob})[0];
  EXPECT_EQ(slope[0].item<double>(), -0.5);
  EXPECT_TRUE(std::isnan(slope[1].item<double>()));
}

TEST(ValueLoss, OnePassAgreesWithOperators) {
  for (const auto type : {at::kDouble, at::kFloat}) {
    for (const Distance distance : {Distance::l1, Distance::l2, Distance::smooth_l1}) {
      for (const std::optional<double> clip : {std::optional<double>(), std::optional<double>(0.15)}) {
        const at::Tensor value = (normals(60, 1) * 2).to(type).requires_grad_();
        const at::Tensor old_value = value.detach() + (normals(60, 3) * 0.2).to(type);
        const ValueInputs inputs{value, normals(60, 2).to(type), clip ? old_value : at::Tensor()};
        const ValueSettings settings{70, 0.7, distance, clip, 0.4};
        expect_same(value_loss(inputs, settings), value_loss_composed(inputs, settings), {value},
                    type == at::kDouble ? 1e-12 : 1e-5);
      }
    }
  }
}

TEST(ValueLoss, TiesBetweenPlainAndClippedAreShared) {
  // V = 1 and V_old + 0.5 = -1 lie as far from the target 0; and V = V_old, where the two are one.
  const at::Tensor value = at::tensor({1.0, 3.0}, at::kDouble).requires_grad_();
  const at::Tensor old_value = at::tensor({-1.5, 3.0}, at::kDouble), target = at::zeros({2}, at::kDouble);
  for (const auto route : {value_loss, value_loss_composed}) {
    const Outputs outputs = route({value, target, old_value}, {1.0, 1.0, Distance::l2, 0.5});
    const at::Tensor slope = torch::autograd::grad({outputs[0].second}, {value})[0];
    EXPECT_EQ(slope[0].item<double>(), 1.0);
    EXPECT_EQ(slope[1].item<double>(), 6.0);
    EXPECT_EQ(outputs.back().first, "value_clipped");
    EXPECT_EQ(outputs.back().second.item<double>(), 1.0);
  }
}

TEST(ValueLoss, NoRowsContributeNothing) {
  const at::Tensor none = at::zeros({0}, at::kDouble);
  for (const auto& [name, value] : value_loss({none, none, none}, {0, 1.0, Distance::l2, 0.2})) {
    EXPECT_EQ(value.item<double>(), 0.0) << name;
  }
}

}  // namespace
}  // namespace lockstep::losses
