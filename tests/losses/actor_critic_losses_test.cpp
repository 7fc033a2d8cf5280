// SAC and TD3: what holds beyond the reference file.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "lockstep/core/error.hpp"
#include "lockstep/losses/sac.hpp"
#include "lockstep/losses/td3.hpp"
#include "transitions.hpp"

namespace lockstep::losses {
namespace {

constexpr std::int64_t rows = 12, size = 3, actions = 2;

template <class Network, class Options>
std::shared_ptr<Network> made(const Options& options) {
  auto network = std::make_shared<Network>(options);
  network->to(at::kDouble);
  network->initialize(7);
  return network;
}

std::shared_ptr<nn::TwinQ> twin_q() {
  return made<nn::TwinQ>(nn::TwinQOptions{size, actions, {8}});
}

SacLoss sac(const SacOptions& options = {}) {
  return {made<nn::SquashedActor>(nn::SquashedActorOptions{size, actions, {8}}), twin_q(), options};
}

Td3Loss td3(const Td3Options& options = {}, const nn::ActionBounds& bounds = {}) {
  return {made<nn::DeterministicActor>(
              nn::DeterministicActorOptions{size, actions, {8}, nn::Activation::relu, bounds}),
          twin_q(), options};
}

Batch batch() {
  Batch result = transitions(rows, size);
  add_continuous(result, actions);
  return result;
}

// The prefixes of the parameters that `name` alone gives a gradient other than zero.
std::set<std::string> trained_by(Loss& loss, const std::string& name) {
  loss.module().zero_grad();
  const Batch data = batch();
  output(loss.forward(data, totals_of(loss, {data})), name).backward();
  std::set<std::string> prefixes;
  for (const auto& item : loss.module().named_parameters()) {
    if (item.value().grad().defined()) prefixes.insert(item.key().substr(0, item.key().find('.')));
  }
  return prefixes;
}

void expect_trainable(Loss& loss) {
  for (const auto& item : loss.module().named_parameters()) {
    EXPECT_EQ(item.value().requires_grad(), !item.key().starts_with("target_")) << item.key();
  }
}

using Names = std::set<std::string>;

TEST(SacLoss, EachLossTrainsItsOwnParameters) {
  SacLoss loss = sac();
  EXPECT_EQ(trained_by(loss, "loss_qvalue"), Names{"qvalue"});
  EXPECT_EQ(trained_by(loss, "loss_actor"), Names{"actor"}) << "Q is held";
  EXPECT_EQ(trained_by(loss, "loss_alpha"), Names{"log_alpha"});
  expect_trainable(loss);
}

TEST(SacLoss, LeavesAndWeightsAreMeansOverTheWholeStep) {
  SacLoss loss = sac({.alpha = 0.4});
  Batch data = batch();
  expect_same_however_cut(loss, data);
  data.add(key::weight, normals({rows}, 9).square());
  expect_same_however_cut(loss, data);

  // A row of weight 0 is as good as absent, in every loss.
  at::Tensor weight = data.at(key::weight).clone();
  weight.narrow(0, 8, rows - 8).zero_();
  data.replace(key::weight, weight);
  const Step with = run_step(loss, {data}), without = run_step(loss, {data.slice(0, 8)});
  for (const std::string& name : loss.loss_names()) {
    EXPECT_NEAR(with.metrics.at(name), without.metrics.at(name), 1e-12) << name;
  }
}

TEST(SacLoss, TargetEntropyIsMinusTheActionsDimensions) {
  SacLoss loss = sac({.alpha = 0.4});
  const Step step = run_step(loss, {batch()});
  const double expected = -std::log(0.4) * (-step.metrics.at("entropy") - actions);
  EXPECT_NEAR(step.metrics.at("loss_alpha"), expected, 1e-12);
  EXPECT_NEAR(loss.log_alpha().grad().item<double>(), step.metrics.at("entropy") + actions, 1e-12);
}

TEST(SacLoss, TargetsAndNoise) {
  SacLoss loss = sac({.tau = 0.01, .target_every = 2});
  const auto noise = loss.noise();
  ASSERT_EQ(noise.size(), 2u);
  EXPECT_EQ(noise[0].name, key::noise_next);
  EXPECT_EQ(noise[1].name, key::noise_current);
  EXPECT_EQ(noise[1].columns, actions);
  EXPECT_EQ(noise[1].dtype, at::kDouble);
  expect_targets_follow(loss, 8, 0.01, 2);
}

TEST(SacLoss, RefusesWhatDoesNotFit) {
  EXPECT_THROW(sac({.alpha = 0}), ContractError);
  SacLoss loss = sac();
  EXPECT_THROW(loss.set_due({"loss_qvalue"}), ContractError);
  for (const std::string_view name : {key::reward, key::noise_next, key::action}) {
    Batch data = batch();
    data.replace(name, normals({rows, 1}, 3));
    EXPECT_THROW(run_step(loss, {data}), ContractError) << name;
  }
}

TEST(Td3Loss, EachLossTrainsItsOwnParameters) {
  Td3Loss loss = td3();
  EXPECT_EQ(trained_by(loss, "loss_qvalue"), Names{"qvalue"});
  EXPECT_EQ(trained_by(loss, "loss_actor"), Names{"actor"}) << "Q is held";
  expect_trainable(loss);
}

TEST(Td3Loss, AnUndueActorIsAZeroWithoutAGraph) {
  Td3Loss loss = td3();
  const Batch data = batch();
  const Step all = run_step(loss, {data});
  loss.set_due({"loss_qvalue"});
  loss.module().zero_grad();
  const Outputs outputs = loss.forward(data, totals_of(loss, {data}));
  EXPECT_EQ(output(outputs, "loss_actor").item<double>(), 0.0);
  EXPECT_FALSE(output(outputs, "loss_actor").requires_grad());
  const Step waiting = run_step(loss, {data});
  EXPECT_EQ(waiting.metrics.at("loss_qvalue"), all.metrics.at("loss_qvalue"));
  EXPECT_FALSE(waiting.metrics.contains("loss_actor"));
  for (const auto& item : loss.module().named_parameters()) {
    EXPECT_EQ(item.value().grad().defined(), item.key().starts_with("qvalue.")) << item.key();
  }
  loss.set_due(loss.loss_names());
  EXPECT_EQ(run_step(loss, {data}).metrics.at("loss_actor"), all.metrics.at("loss_actor"));
  EXPECT_NE(all.metrics.at("loss_actor"), 0.0);

  EXPECT_THROW(loss.set_due({"loss_actor"}), ContractError) << "the Q networks never wait";
  EXPECT_THROW(loss.set_due({"loss_qvalue", "loss_alpha"}), ContractError);
}

TEST(Td3Loss, NoiseIsClippedAndTheActionStaysInItsBounds) {
  const nn::ActionBounds bounds{{-2, 0}, {2, 10}};
  const Batch data = batch();
  const auto target_mean = [&](const Td3Options& options, const at::Tensor& noise) {
    Td3Loss loss = td3(options, bounds);
    Batch with = data;
    with.replace(key::noise_next, noise);
    return run_step(loss, {with}).metrics.at("target_mean");
  };
  const auto all = [&](double value) { return at::full({rows, actions}, value, at::kDouble); };
  // Beyond the clip more noise changes nothing; within it, it does.
  const Td3Options usual{.policy_noise = 0.2, .noise_clip = 0.5};
  EXPECT_EQ(target_mean(usual, all(3)), target_mean(usual, all(30)));
  EXPECT_NE(target_mean(usual, all(1)), target_mean(usual, all(2)));
  EXPECT_EQ(target_mean({.policy_noise = 0}, all(1)), target_mean({.policy_noise = 0}, all(-2)));

  // With any amount of noise allowed the next action is a corner of the box: y by hand.
  Td3Loss loss = td3({.gamma = 0.9, .policy_noise = 100, .noise_clip = 1000}, bounds);
  Batch with = data;
  with.replace(key::noise_next, all(1));
  const auto qvalue = twin_q();
  const at::Tensor corner = at::tensor({2.0, 10.0}, at::kDouble).expand({rows, actions}).contiguous();
  const auto [q0, q1] = qvalue->forward(data.at(key::next_observation), corner);
  const at::Tensor next = at::where(data.at(key::terminated), 0.0, at::minimum(q0, q1));
  EXPECT_NEAR(run_step(loss, {with}).metrics.at("target_mean"),
              (data.at(key::reward) + 0.9 * next).mean().item<double>(), 1e-12);
}

TEST(Td3Loss, LeavesAndWeightsAreMeansOverTheWholeStep) {
  Td3Loss loss = td3();
  Batch data = batch();
  data.add(key::weight, normals({rows}, 9).square());
  expect_same_however_cut(loss, data);
}

TEST(Td3Loss, TargetsAndNoise) {
  Td3Loss loss = td3({.tau = 0.05, .target_every = 2});
  ASSERT_EQ(loss.noise().size(), 1u);
  EXPECT_EQ(loss.noise()[0].name, key::noise_next);
  EXPECT_EQ(loss.noise()[0].columns, actions);
  expect_targets_follow(loss, 12, 0.05, 2);
  EXPECT_THROW(td3({.policy_noise = -1}), ContractError);
}

}  // namespace
}  // namespace lockstep::losses
