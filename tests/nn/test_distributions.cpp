#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "lockstep/core/error.hpp"
#include "lockstep/nn/distributions.hpp"

namespace lockstep::nn {
namespace {

at::Tensor normals(at::IntArrayRef shape, std::uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  return at::randn(shape, generator, at::TensorOptions(at::kDouble));
}

at::Tensor indices(std::vector<std::int64_t> values) {
  return at::tensor(values, at::kLong);
}

double largest_error(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).abs() / (1 + b.abs())).max().item<double>();
}

// Both routes to log_prob and entropy, and the gradients of a mixture of both by `inputs`.
void expect_evaluate_agrees(const auto& distribution, const at::Tensor& action,
                            const std::vector<at::Tensor>& inputs, double bound) {
  const LogProbEntropy fused = distribution.evaluate(action);
  const LogProbEntropy plain{distribution.log_prob(action), distribution.entropy()};
  EXPECT_LE(largest_error(fused.log_prob, plain.log_prob), bound);
  EXPECT_LE(largest_error(fused.entropy, plain.entropy), bound);
  const at::Tensor weigh = normals(action.size(0), 5).to(fused.log_prob.scalar_type());
  const auto mixture = [&](const LogProbEntropy& e) {
    return (e.log_prob * weigh).sum() + (e.entropy * weigh.square()).sum();
  };
  const auto ours = torch::autograd::grad({mixture(fused)}, inputs);
  const auto theirs = torch::autograd::grad({mixture(plain)}, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(ours[i].sizes(), inputs[i].sizes());
    EXPECT_LE(largest_error(ours[i], theirs[i]), bound) << "input " << i;
  }
}

TEST(Categorical, MatchesClosedForms) {
  const at::Tensor logits =
      at::log(at::tensor({0.5, 0.25, 0.25, 1.0, 1.0, 2.0}, at::kDouble)).view({2, 3}) + 3;
  const Categorical policy(logits);
  const at::Tensor log_prob = policy.log_prob(indices({0, 2}));
  EXPECT_NEAR(log_prob[0].item<double>(), std::log(0.5), 1e-14);
  EXPECT_NEAR(log_prob[1].item<double>(), std::log(0.5), 1e-14);
  const at::Tensor entropy = policy.entropy();
  EXPECT_NEAR(entropy[0].item<double>(), 1.5 * std::log(2.0), 1e-14);
  EXPECT_NEAR(entropy[1].item<double>(), 1.5 * std::log(2.0), 1e-14);
}

TEST(Categorical, OnePassAgreesWithOperators) {
  for (const auto type : {at::kDouble, at::kFloat}) {
    const double bound = type == at::kDouble ? 1e-12 : 1e-5;
    const at::Tensor logits = (normals({9, 5}, 1) * 3).to(type).requires_grad_();
    const at::Tensor action = indices({0, 1, 2, 3, 4, 0, 1, 2, 3});
    expect_evaluate_agrees(Categorical(logits), action, {logits}, bound);
    // Columns of a wider matrix: not contiguous, so the operators run.
    const at::Tensor wide = (normals({9, 8}, 2) * 3).to(type).requires_grad_();
    expect_evaluate_agrees(Categorical(wide.narrow(1, 2, 5)), action, {wide}, bound);
  }
}

TEST(Categorical, OnlyOneOfTheTwoMayBeDifferentiated) {
  const at::Tensor logits = normals({4, 3}, 3).requires_grad_();
  const at::Tensor action = indices({0, 1, 2, 0});
  const Categorical policy(logits);
  const auto ours = torch::autograd::grad({policy.evaluate(action).entropy.sum()}, {logits});
  const auto theirs = torch::autograd::grad({policy.entropy().sum()}, {logits});
  EXPECT_LE(largest_error(ours[0], theirs[0]), 1e-12);
}

TEST(Categorical, ExtremeLogitsStayFinite) {
  const at::Tensor logits = at::tensor({1e4, -1e4, 0.0}, at::kDouble).view({1, 3}).requires_grad_();
  const LogProbEntropy result = Categorical(logits).evaluate(indices({1}));
  EXPECT_EQ(result.log_prob.item<double>(), -2e4);
  EXPECT_EQ(result.entropy.item<double>(), 0.0);
  (result.log_prob + result.entropy).sum().backward();
  EXPECT_TRUE(at::isfinite(logits.grad()).all().item<bool>());
}

TEST(Categorical, ModeTakesTheLowestIndexAmongEquals) {
  const at::Tensor logits = at::tensor({1., 3., 3., 2., 2., 2., 0., 0., 1e-300}, at::kDouble).view({3, 3});
  EXPECT_TRUE(at::equal(Categorical(logits).mode(), indices({1, 0, 2})));
}

TEST(Categorical, SamplesWithTheRightFrequencies) {
  const std::array<double, 4> probabilities{0.1, 0.2, 0.3, 0.4};
  const int rows = 40000;
  const at::Tensor logits = at::log(at::tensor({0.1, 0.2, 0.3, 0.4}, at::kFloat)).expand({rows, 4});
  RandomStream stream(3, StreamId::test, 0);
  const at::Tensor action = Categorical(logits).sample(stream);
  EXPECT_EQ(stream.draw(), static_cast<std::uint64_t>(rows));  // one draw a row
  const at::Tensor counts = at::bincount(action, {}, 4);
  for (int i = 0; i < 4; ++i) {
    const double p = probabilities[i], deviation = std::sqrt(rows * p * (1 - p));
    EXPECT_NEAR(counts[i].item<double>(), rows * p, 5 * deviation) << "action " << i;
  }
}

TEST(Categorical, SamplesNothingImpossibleAndRefusesNan) {
  RandomStream stream(4, StreamId::test, 0);
  const double never = -std::numeric_limits<double>::infinity();
  const at::Tensor logits = at::tensor({never, 0.0, never}, at::kDouble).expand({200, 3});
  EXPECT_TRUE((Categorical(logits).sample(stream) == 1).all().item<bool>());
  const at::Tensor bad = at::full({1, 2}, std::numeric_limits<double>::quiet_NaN(), at::kDouble);
  EXPECT_THROW(Categorical(bad).sample(stream), NumericError);
}

TEST(Categorical, RefusesWrongActions) {
  const Categorical policy(at::zeros({2, 3}));
  EXPECT_THROW(policy.evaluate(indices({0, 3})), ContractError);
  EXPECT_THROW(policy.evaluate(indices({-1, 0})), ContractError);
  EXPECT_THROW(policy.log_prob(indices({0})), ContractError);
  EXPECT_THROW(policy.log_prob(at::zeros({2, 1}, at::kLong)), ContractError);
  EXPECT_THROW(policy.log_prob(at::zeros({2})), ContractError);
  EXPECT_THROW(Categorical(at::zeros({3})), ContractError);
}

TEST(Normal, MatchesClosedForms) {
  const at::Tensor mean = at::tensor({1.0, -2.0}, at::kDouble).view({1, 2});
  const at::Tensor log_std = at::log(at::tensor({0.5, 2.0}, at::kDouble));
  const at::Tensor action = at::tensor({2.0, 0.0}, at::kDouble).view({1, 2});
  const Normal policy(mean, log_std);
  const double log_two_pi = std::log(2 * std::numbers::pi);
  // z = 2 and 1; the product of the deviations is 1.
  EXPECT_NEAR(policy.log_prob(action).item<double>(), -0.5 * (4 + 1) - log_two_pi, 1e-14);
  EXPECT_NEAR(policy.entropy().item<double>(), 1 + log_two_pi, 1e-14);
  EXPECT_TRUE(at::equal(policy.mode(), mean));
}

TEST(Normal, OnePassAgreesWithOperators) {
  for (const auto type : {at::kDouble, at::kFloat}) {
    const double bound = type == at::kDouble ? 1e-12 : 1e-5;
    const at::Tensor action = normals({6, 2}, 3).to(type);
    const at::Tensor mean = normals({6, 2}, 4).to(type).requires_grad_();
    const at::Tensor shared = (normals({2}, 5) * 0.5).to(type).requires_grad_();
    expect_evaluate_agrees(Normal(mean, shared), action, {mean, shared}, bound);
    const at::Tensor both = (normals({6, 4}, 6) * 0.5).to(type).requires_grad_();
    expect_evaluate_agrees(Normal(both.narrow(1, 0, 2), both.narrow(1, 2, 2)), action, {both}, bound);
  }
}

TEST(Normal, AFrozenDeviationLeavesTheMeansGradient) {
  const at::Tensor mean = normals({3, 2}, 7).requires_grad_(), log_std = at::zeros({2}, at::kDouble);
  expect_evaluate_agrees(Normal(mean, log_std), normals({3, 2}, 8), {mean}, 1e-12);
}

TEST(Normal, AnActionThatCarriesAGradientKeepsIt) {
  const at::Tensor mean = normals({3, 2}, 9), log_std = at::zeros({2}, at::kDouble);
  const at::Tensor action = normals({3, 2}, 10).requires_grad_();
  const auto gradient =
      torch::autograd::grad({Normal(mean, log_std).evaluate(action).log_prob.sum()}, {action});
  EXPECT_LE(largest_error(gradient[0], mean - action.detach()), 1e-12);
}

TEST(Normal, SamplesHaveTheMomentsAndTheDraws) {
  const int rows = 20000;
  const at::Tensor mean = at::tensor({3.0, -1.0}, at::kDouble).expand({rows, 2});
  const at::Tensor log_std = at::log(at::tensor({0.5, 2.0}, at::kDouble));
  RandomStream stream(5, StreamId::test, 0);
  const at::Tensor sample = Normal(mean, log_std).sample(stream);
  EXPECT_EQ(stream.draw(), static_cast<std::uint64_t>(2 * rows));
  const at::Tensor z = (sample - mean) / log_std.exp();
  const double bound = 5 / std::sqrt(static_cast<double>(rows));
  for (int j = 0; j < 2; ++j) {
    EXPECT_NEAR(z.select(1, j).mean().item<double>(), 0.0, bound);
    EXPECT_NEAR(z.select(1, j).std().item<double>(), 1.0, bound);
  }
  EXPECT_NEAR((z.select(1, 0) * z.select(1, 1)).mean().item<double>(), 0.0, bound);
}

TEST(Normal, RefusesWrongShapes) {
  const Normal policy(at::zeros({2, 3}), at::zeros({3}));
  EXPECT_THROW(policy.log_prob(at::zeros({2})), ContractError);
  EXPECT_THROW(policy.evaluate(at::zeros({2, 2})), ContractError);
  EXPECT_THROW(policy.evaluate(at::zeros({2, 3}, at::kDouble)), ContractError);
  EXPECT_THROW(Normal(at::zeros({2, 3}), at::zeros({2})), ContractError);
}

}  // namespace
}  // namespace lockstep::nn
