#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "lockstep/core/error.hpp"
#include "lockstep/losses/ppo.hpp"
#include "step.hpp"

namespace lockstep::losses {
namespace {

using testing::HasSubstr;

at::Tensor normals(at::IntArrayRef shape, std::uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  return at::randn(shape, generator, at::TensorOptions(at::kDouble));
}

std::shared_ptr<nn::ActorCritic> network(bool discrete = true) {
  auto result = std::make_shared<nn::ActorCritic>(
      nn::ActorCriticOptions{3, discrete, 2, {5}, nn::Activation::tanh, nn::LogStd::free});
  result->initialize(1);
  result->to(at::kDouble);
  return result;
}

Batch batch(std::int64_t rows, bool discrete = true) {
  Batch b;
  b.add(key::observation, normals({rows, 3}, 1));
  b.add(key::action, discrete ? at::arange(rows, at::kLong).remainder(2) : normals({rows, 2}, 2));
  b.add(key::log_prob, normals({rows}, 3) * 0.3 - 0.7);
  b.add(key::advantage, normals({rows}, 4) * 2 + 1);
  b.add(key::value_target, normals({rows}, 5));
  b.add(key::value, normals({rows}, 6) * 0.1);
  return b;
}

PpoOptions every_option() {
  PpoOptions options;
  options.value_clip = 0.1;
  options.normalize_advantage = true;
  return options;
}

std::vector<at::Tensor> gradients(PpoLoss& loss) {
  std::vector<at::Tensor> result;
  for (const at::Tensor& parameter : loss.module().parameters()) result.push_back(parameter.grad().clone());
  return result;
}

TEST(Ppo, AnyCutIntoLeavesGivesTheSameStep) {
  for (const bool discrete : {true, false}) {
    PpoLoss loss(network(discrete), every_option());
    const Batch whole = batch(23, discrete);
    const Step expected = run_step(loss, {whole});
    const auto expected_gradients = gradients(loss);
    const std::vector<std::vector<std::int64_t>> cuts{
        {0, 12, 23}, {0, 1, 2, 23}, {0, 7, 7, 14, 20, 23}, {0, 0, 23}};
    for (const auto& cut : cuts) {
      std::vector<Batch> leaves;
      for (std::size_t i = 0; i + 1 < cut.size(); ++i) leaves.push_back(whole.slice(cut[i], cut[i + 1]));
      const Step step = run_step(loss, leaves);
      for (const auto& [name, value] : expected.metrics) {
        EXPECT_NEAR(step.metrics.at(name), value, 1e-12 * (1 + std::abs(value))) << name;
      }
      const auto step_gradients = gradients(loss);
      for (std::size_t i = 0; i < step_gradients.size(); ++i) {
        EXPECT_TRUE(at::allclose(step_gradients[i], expected_gradients[i], 1e-12, 1e-12))
            << "parameter " << i;
      }
    }
  }
}

TEST(Ppo, TotalsAreTheSameBitsForAnyCut) {
  PpoLoss loss(network(), every_option());
  const Batch whole = batch(20);
  Totals one, many;
  loss.add_totals(whole, one);
  for (const auto& [begin, end] : {std::pair{13, 20}, {0, 4}, {4, 4}, {4, 13}})
    loss.add_totals(whole.slice(begin, end), many);
  ASSERT_EQ(one.size(), many.size());
  for (auto& [name, sum] : one) EXPECT_EQ(sum.value(), many.at(name).value()) << name;
}

TEST(Ppo, OutputsAreNamedInOrder) {
  PpoLoss loss(network(), every_option());
  const Batch whole = batch(4);
  Totals totals;
  loss.add_totals(whole, totals);
  std::vector<std::string> names;
  for (const auto& [name, value] : loss.forward(whole, totals)) names.push_back(name);
  EXPECT_THAT(names,
              testing::ElementsAre("loss_objective", "loss_entropy", "loss_critic", "clipped", "log_ratio",
                                   "ratio", "ratio_squared", "max_ratio", "entropy", "target",
                                   "target_squared", "residual", "residual_squared", "value_clipped"));
}

// The objective of a step equals that of a step whose advantage was normalised by hand.
void expect_normalized(const at::Tensor& raw, const at::Tensor& normalized) {
  Batch given = batch(raw.size(0)), by_hand = batch(raw.size(0));
  given.replace(key::advantage, raw);
  by_hand.replace(key::advantage, normalized);
  PpoOptions options;
  PpoLoss plain(network(), options);
  options.normalize_advantage = true;
  PpoLoss normalizing(network(), options);
  const double expected = run_step(plain, {by_hand}).metrics.at("loss_objective");
  EXPECT_NEAR(run_step(normalizing, {given}).metrics.at("loss_objective"), expected,
              1e-12 * (1 + std::abs(expected)));
  for (const at::Tensor& gradient : gradients(normalizing))
    EXPECT_TRUE(at::isfinite(gradient).all().item<bool>());
}

TEST(AdvantageNormalization, UsesTheSampleDeviation) {
  const at::Tensor raw = normals({9}, 20) * 3 + 5;
  expect_normalized(raw, (raw - raw.mean()) / raw.std());
}

TEST(AdvantageNormalization, LeavesASingleRowAlone) {
  const at::Tensor raw = at::full({1}, 2.5, at::kDouble);
  expect_normalized(raw, raw);
}

TEST(AdvantageNormalization, EqualRowsBecomeZero) {
  expect_normalized(at::full({7}, 0.1, at::kDouble), at::zeros({7}, at::kDouble));
}

TEST(AdvantageNormalization, TinyDeviationsAreFloored) {
  const at::Tensor raw = normals({6}, 21) * 1e-6;
  expect_normalized(raw, (raw - raw.mean()) / 1e-4);
}

TEST(AdvantageNormalization, DoesNotCancelFarFromZero) {
  // Multiples of 2^-10 beside 2^40: every A and its distance from the mean is exact, A^2 is not.
  const at::Tensor offset = at::arange(8, at::kDouble) / 1024;
  expect_normalized(offset + std::ldexp(1.0, 40), (offset - offset.mean()) / offset.std());
}

TEST(Ppo, AStepOfNoRowsIsZeroNotNan) {
  PpoLoss loss(network(), every_option());
  const Step step = run_step(loss, {batch(4).slice(0, 0)});
  for (const auto& [name, value] : step.metrics) EXPECT_EQ(value, 0.0) << name;
  for (const at::Tensor& gradient : gradients(loss)) EXPECT_EQ(gradient.abs().sum().item<double>(), 0.0);
}

TEST(Ppo, SetClipTakesEffect) {
  PpoOptions options;
  options.clip_low = options.clip_high = 0.0;
  PpoLoss loss(network(), options);
  EXPECT_EQ(run_step(loss, {batch(10)}).metrics.at("clip_fraction"), 1.0);
  loss.set_clip(1.0, 1e9);
  EXPECT_EQ(run_step(loss, {batch(10)}).metrics.at("clip_fraction"), 0.0);
}

TEST(Ppo, MetricsByHand) {
  // log_prob equal to the policy's own: ratio 1 everywhere; the critic predicts its target up to a constant.
  auto actor_critic = network();
  Batch b = batch(6);
  {
    const at::NoGradGuard no_grad;
    b.replace(key::log_prob, nn::log_prob(actor_critic->policy(b.at(key::observation)), b.at(key::action)));
    b.replace(key::value_target, actor_critic->value(b.at(key::observation)) + 1000);
  }
  PpoLoss loss(actor_critic, {});
  const Metrics metrics = run_step(loss, {b.slice(0, 2), b.slice(2, 6)}).metrics;
  EXPECT_NEAR(metrics.at("ess"), 1.0, 1e-12);
  EXPECT_NEAR(metrics.at("mean_ratio"), 1.0, 1e-12);
  EXPECT_NEAR(metrics.at("max_ratio"), 1.0, 1e-12);
  EXPECT_NEAR(metrics.at("kl_approx"), 0.0, 1e-12);
  EXPECT_NEAR(metrics.at("explained_variance"), 1.0, 1e-6);
  EXPECT_EQ(metrics.count("value_clip_fraction"), 0u);
}

std::string refusal(const std::function<void(Batch&)>& spoil, const PpoOptions& options = every_option()) {
  PpoLoss loss(network(), options);
  Batch b = batch(5);
  spoil(b);
  try {
    run_step(loss, {b});
  } catch (const ContractError& error) {
    return error.what();
  }
  return "no ContractError";
}

TEST(Ppo, RefusesWhatDoesNotFit) {
  EXPECT_THAT(refusal([](Batch& b) {
                b.replace(key::advantage, at::zeros({5, 1}, at::kDouble));
              }),
              HasSubstr("'advantage' must be Double of shape [rows], not Double of shape [5, 1]"));
  EXPECT_THAT(refusal([](Batch& b) {
                b.replace(key::value, at::zeros({5, 1}, at::kDouble));
              }),
              HasSubstr("'value'"));
  EXPECT_THAT(refusal([](Batch& b) { b.replace(key::log_prob, at::zeros({5})); }),
              HasSubstr("'log_prob' must be Double"));
  EXPECT_THAT(refusal([](Batch& b) { b.replace(key::action, at::full({5}, 2, at::kLong)); }),
              HasSubstr("action 2 in row 0 is not in [0, 2)"));
  EXPECT_THAT(refusal([](Batch& b) {
                Batch less;
                less.add(key::value_target, b.at(key::value_target));
                b = less;
              }),
              HasSubstr("it has value_target"));
}

TEST(Ppo, ReadsOldValuesOnlyWithAValueClip) {
  const auto without_value = [](Batch& b) {
    Batch kept;
    for (const auto& [name, tensor] : b.entries()) {
      if (name != key::value) kept.add(name, tensor);
    }
    b = kept;
  };
  EXPECT_THAT(refusal(without_value), HasSubstr("no entry 'value'"));
  EXPECT_EQ(refusal(without_value, {}), "no ContractError");
}

TEST(Ppo, RefusesImpossibleOptions) {
  PpoOptions options;
  options.clip_low = 1.5;
  EXPECT_THROW(PpoLoss(network(), options), ContractError);
  options = {};
  options.value_clip = 0.0;
  EXPECT_THROW(PpoLoss(network(), options), ContractError);
}

TEST(Loss, FinishCopiesTheLosses) {
  PpoLoss loss(network(), {});
  const Metrics metrics = loss.Loss::finish({{"loss_a", 1.0}, {"max_b", 2.0}, {"c", 3.0}}, {});
  EXPECT_THAT(metrics, testing::ElementsAre(testing::Pair("loss_a", 1.0)));
}

}  // namespace
}  // namespace lockstep::losses
