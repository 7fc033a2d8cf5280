// Networks over continuous actions and their distribution: TwinQ, DeterministicActor, SquashedActor,
// TanhNormal, and QNetwork.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "lockstep/core/error.hpp"
#include "lockstep/core/random.hpp"
#include "lockstep/nn/deterministic_actor.hpp"
#include "lockstep/nn/q_network.hpp"
#include "lockstep/nn/squashed_actor.hpp"
#include "lockstep/nn/twin_q.hpp"

namespace lockstep::nn {
namespace {

constexpr std::int64_t rows = 6, size = 3, actions = 2;

at::Tensor normals(at::IntArrayRef shape, std::uint32_t shard) {
  at::Tensor values = at::empty(shape, at::kDouble);
  RandomStream stream(11, StreamId::test, shard);
  stream.fill_normal({values.data_ptr<double>(), static_cast<std::size_t>(values.numel())});
  return values;
}

template <class Network, class Options>
std::shared_ptr<Network> made(const Options& options) {
  auto network = std::make_shared<Network>(options);
  network->to(at::kDouble);
  network->initialize(3);
  return network;
}

const ActionBounds box{{-2, 0}, {2, 10}};

double largest_error(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).abs() / (1 + b.abs())).max().item<double>();
}

TEST(FanInUniform, IsKeyedBySeedAndNameAndBoundedByTheInputs) {
  const auto first = made<TwinQ>(TwinQOptions{size, actions, {64}});
  const auto again = made<TwinQ>(TwinQOptions{size, actions, {64}});
  const auto p = first->named_parameters(), q = again->named_parameters();
  for (const auto& item : p) EXPECT_TRUE(at::equal(item.value(), q[item.key()])) << item.key();
  EXPECT_FALSE(at::equal(p["q0.0.weight"], p["q1.0.weight"]));
  again->initialize(4);
  EXPECT_FALSE(at::equal(p["q0.0.weight"], q["q0.0.weight"]));
  const std::map<std::string, double> inputs_of{{"q0.0.weight", 5}, {"q0.0.bias", 5}, {"q0.2.weight", 64}};
  for (const auto& [name, inputs] : inputs_of) {
    const double bound = 1 / std::sqrt(inputs), largest = p[name].abs().max().item<double>();
    EXPECT_LE(largest, bound) << name;
    EXPECT_GT(largest, 0.8 * bound) << name;
  }
  EXPECT_LE(std::abs(p["q0.2.bias"].item<double>()), 1 / 8.0);
}

TEST(QNetwork, GivesAValueToEveryAction) {
  const auto network = made<QNetwork>(QNetworkOptions{size, 4, {8}});
  const at::Tensor x = normals({rows, size}, 1);
  const auto p = network->named_parameters();
  const at::Tensor expected =
      at::linear(at::relu(at::linear(x, p["q.0.weight"], p["q.0.bias"])), p["q.2.weight"], p["q.2.bias"]);
  EXPECT_LE(largest_error(network->forward(x), expected), 1e-13);
  EXPECT_EQ(p.size(), 4u);
  EXPECT_THROW(network->forward(normals({rows, size + 1}, 1)), ContractError);
}

TEST(TwinQ, IsDifferentiableByTheActionWhileItsParametersAreHeld) {
  const auto network = made<TwinQ>(TwinQOptions{size, actions, {8, 8}});
  const at::Tensor x = normals({rows, size}, 1), action = normals({rows, actions}, 2).requires_grad_();
  const auto gradient = [&] {
    action.mutable_grad().reset();
    const auto [q0, q1] = network->forward(x, action);
    (q0 + 2 * q1).sum().backward();
    return action.grad().clone();
  };
  const at::Tensor free = gradient();
  network->zero_grad();
  for (const at::Tensor& parameter : network->parameters()) parameter.set_requires_grad(false);
  EXPECT_TRUE(at::equal(gradient(), free));
  for (const at::Tensor& parameter : network->parameters()) EXPECT_FALSE(parameter.grad().defined());

  const at::NoGradGuard no_grad;
  const double step = 1e-6;
  for (std::int64_t j = 0; j < actions; ++j) {
    at::Tensor up = action.detach().clone(), down = up.clone();
    up.select(1, j).add_(step);
    down.select(1, j).sub_(step);
    const auto [a0, a1] = network->forward(x, up);
    const auto [b0, b1] = network->forward(x, down);
    EXPECT_LE(largest_error(free.select(1, j), (a0 - b0 + 2 * (a1 - b1)) / (2 * step)), 1e-8);
  }
  EXPECT_TRUE(at::equal(network->first(x, action), std::get<0>(network->forward(x, action))));
}

TEST(TwinQ, RefusesWhatDoesNotFit) {
  const auto network = made<TwinQ>(TwinQOptions{size, actions, {8}});
  const at::Tensor x = normals({rows, size}, 1);
  EXPECT_THROW(network->forward(x, normals({rows, actions + 1}, 2)), ContractError);
  EXPECT_THROW(network->forward(x, normals({rows - 1, actions}, 2)), ContractError);
  EXPECT_THROW(network->forward(x, normals({rows, actions}, 2).to(at::kFloat)), ContractError);
  EXPECT_THROW(TwinQ(TwinQOptions{size, 0, {8}}), ContractError);
}

TEST(ActionScale, MapsAndClamps) {
  const ActionScale scale(box, 2);
  const at::Tensor unit = at::tensor({-1.0, 0.0, 1.0, 0.5}, at::kDouble).view({2, 2});
  const at::Tensor mapped = at::tensor({-2.0, 5.0, 2.0, 7.5}, at::kDouble).view({2, 2});
  EXPECT_TRUE(at::equal(scale.to_bounds(unit), mapped));
  EXPECT_TRUE(at::equal(scale.to_unit(mapped), unit));
  EXPECT_TRUE(at::equal(scale.clamp(at::full({1, 2}, 20.0)), at::tensor({2.0F, 10.0F}).view({1, 2})));
  EXPECT_DOUBLE_EQ(scale.log_volume(), std::log(10.0));
  EXPECT_EQ(scale.to_bounds(unit.to(at::kFloat)).scalar_type(), at::kFloat);

  const ActionScale plain({}, 2);
  EXPECT_TRUE(at::equal(plain.to_bounds(unit), unit));
  EXPECT_EQ(plain.clamp(at::full({1, 2}, -3.0)).max().item<double>(), -1.0);
  EXPECT_EQ(plain.log_volume(), 0.0);
  EXPECT_THROW(ActionScale({{0}, {1}}, 2), ContractError);
  EXPECT_THROW(ActionScale({{0, 1}, {1, 1}}, 2), ContractError);
  EXPECT_THROW(ActionScale({{0, 0}, {1, INFINITY}}, 2), ContractError);
}

TEST(TanhNormal, ItsDensityIntegratesToOne) {
  const ActionScale scale({{-1}, {4}}, 1);
  const std::int64_t points = 200001;
  const double step = 5.0 / static_cast<double>(points + 1);
  const at::Tensor action = (at::arange(points, at::kDouble) + 1).mul(step).sub(1).unsqueeze(1);
  const auto same = [&](double value) { return at::full({points, 1}, value, at::kDouble); };
  const TanhNormal distribution(same(0.3), same(std::log(0.6)), scale);
  EXPECT_NEAR(distribution.log_prob(action).exp().sum().item<double>() * step, 1.0, 1e-6);
}

TEST(TanhNormal, ASampleAndItsDensityAgreeAndHaveGradients) {
  const ActionScale scale(box, actions);
  const at::Tensor noise = normals({rows, actions}, 5);
  at::Tensor mean = normals({rows, actions}, 3).requires_grad_();
  at::Tensor log_std = (normals({rows, actions}, 4) * 0.3).requires_grad_();
  const auto [action, log_prob] = TanhNormal(mean, log_std, scale).rsample(noise);
  EXPECT_LE(largest_error(log_prob, TanhNormal(mean, log_std, scale).log_prob(action)), 1e-9);
  (action.sum() + log_prob.sum()).backward();

  // By hand: t = tanh(u), du/dmean = 1, du/ds = exp(s) noise; d action/du = (1 - t^2) width, and d log pi/du
  // = 2 t, since the normal's own part of log pi does not change with u at fixed noise.
  const at::NoGradGuard no_grad;
  const at::Tensor deviation = log_std.exp(), t = (mean + deviation * noise).tanh();
  const at::Tensor by_u = (1 - t * t) * at::tensor({2.0, 5.0}, at::kDouble) + 2 * t;
  EXPECT_LE(largest_error(mean.grad(), by_u), 1e-12);
  EXPECT_LE(largest_error(log_std.grad(), by_u * deviation * noise - 1), 1e-12);
}

TEST(TanhNormal, StaysFiniteFarOut) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    at::Tensor mean = at::full({1, 2}, 60, type).requires_grad_();
    const TanhNormal distribution(mean, at::zeros({1, 2}, type), ActionScale({}, 2));
    const auto [action, log_prob] = distribution.rsample(at::zeros({1, 2}, type));
    EXPECT_EQ(action.max().item<double>(), 1.0);
    // log N = -log sqrt(2 pi), log(1 - tanh(60)^2) = 2 (log 2 - 60) to the last digit.
    const double expected = 2 * (-0.5 * std::log(2 * M_PI) - 2 * (std::log(2) - 60));
    EXPECT_NEAR(log_prob.item<double>(), expected, type == at::kFloat ? 1e-4 : 1e-12);
    log_prob.sum().backward();
    EXPECT_NEAR(mean.grad().max().item<double>(), 2.0, 1e-6);
  }
}

TEST(TanhNormal, SamplesFollowTheStream) {
  const TanhNormal distribution(normals({rows, actions}, 3), normals({rows, actions}, 4),
                                ActionScale(box, actions));
  RandomStream a(1, StreamId::test, 0), b(1, StreamId::test, 0);
  at::Tensor noise = at::empty({rows, actions}, at::kDouble);
  b.fill_normal({noise.data_ptr<double>(), static_cast<std::size_t>(noise.numel())});
  EXPECT_LE(largest_error(distribution.sample(a), distribution.rsample(noise).action), 1e-15);
  EXPECT_EQ(a.draw(), static_cast<std::uint64_t>(rows * actions));
  EXPECT_TRUE(at::equal(distribution.mode(), distribution.rsample(at::zeros_like(noise)).action));
}

TEST(TanhNormal, RefusesWhatDoesNotFit) {
  const ActionScale scale({}, actions);
  const at::Tensor mean = normals({rows, actions}, 3);
  EXPECT_THROW(TanhNormal(mean[0], mean[0], scale), ContractError);
  EXPECT_THROW(TanhNormal(mean, mean.narrow(1, 0, 1), scale), ContractError);
  const TanhNormal distribution(mean, mean, scale);
  EXPECT_THROW(distribution.rsample(mean.narrow(1, 0, 1)), ContractError);
  EXPECT_THROW(distribution.log_prob(mean.to(at::kFloat)), ContractError);
}

TEST(DeterministicActor, IsATanhScaledToTheBounds) {
  const auto actor =
      made<DeterministicActor>(DeterministicActorOptions{size, actions, {8}, Activation::relu, box});
  const at::Tensor x = normals({rows, size}, 1);
  const auto p = actor->named_parameters();
  const at::Tensor hidden = at::relu(at::linear(x, p["actor.0.weight"], p["actor.0.bias"]));
  const at::Tensor unit = at::linear(hidden, p["actor.2.weight"], p["actor.2.bias"]).tanh();
  EXPECT_LE(largest_error(actor->forward(x), actor->scale().to_bounds(unit)), 1e-13);
}

TEST(SquashedActor, HalvesItsOutputIntoMeanAndLogDeviation) {
  const auto actor = made<SquashedActor>(SquashedActorOptions{size, actions, {8}, Activation::tanh, box, {}});
  const at::Tensor x = normals({rows, size}, 1), noise = normals({rows, actions}, 5);
  const auto p = actor->named_parameters();
  const at::Tensor hidden = at::linear(x, p["actor.0.weight"], p["actor.0.bias"]).tanh();
  const at::Tensor output = at::linear(hidden, p["actor.2.weight"], p["actor.2.bias"]);
  const at::Tensor u = output.narrow(1, 0, actions) + output.narrow(1, actions, actions).exp() * noise;
  EXPECT_LE(largest_error(actor->policy(x).rsample(noise).action, actor->scale().to_bounds(u.tanh())), 1e-13);
}

TEST(SquashedActor, ClampsItsLogDeviation) {
  SquashedActorOptions options{size, actions, {8}};
  options.log_std_range = {-1, -0.999999};
  const auto actor = made<SquashedActor>(options);
  const at::Tensor x = normals({rows, size}, 1), noise = normals({rows, actions}, 5);
  const at::Tensor u = actor->policy(x).rsample(noise).action.atanh();
  const at::Tensor mean = actor->policy(x).mode().atanh();
  EXPECT_LE(largest_error(u - mean, std::exp(-1) * noise), 1e-5);
  options.log_std_range = {2, -20};
  EXPECT_THROW(SquashedActor{options}, ContractError);
}

}  // namespace
}  // namespace lockstep::nn
