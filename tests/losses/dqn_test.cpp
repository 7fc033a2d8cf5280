#include "lockstep/losses/dqn.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "lockstep/core/error.hpp"
#include "transitions.hpp"

namespace lockstep::losses {
namespace {

constexpr std::int64_t rows = 12, size = 3, actions = 4;

std::shared_ptr<nn::QNetwork> network() {
  auto result = std::make_shared<nn::QNetwork>(nn::QNetworkOptions{size, actions, {8}});
  result->to(at::kDouble);
  result->initialize(5);
  return result;
}

Batch batch() {
  Batch result = transitions(rows, size);
  result.add(key::action, at::arange(rows).remainder(actions));
  return result;
}

// The target network, made different from the online one.
void shake_target(DqnLoss& loss) {
  const at::NoGradGuard no_grad;
  std::uint32_t shard = 40;
  for (const auto& [target, source] : loss.target_update().pairs) {
    target.add_(normals(target.sizes(), shard++));
  }
}

TEST(DqnLoss, ByHandFromItsFormula) {
  for (const bool double_q : {false, true}) {
    const auto online = network();
    DqnLoss loss(online, {.gamma = 0.9, .double_q = double_q, .distance = Distance::smooth_l1});
    shake_target(loss);
    const Batch data = batch();
    const at::NoGradGuard no_grad;
    const auto target = [&](const at::Tensor& x) {
      const auto p = loss.module().named_parameters();
      return at::linear(at::relu(at::linear(x, p["target.q.0.weight"], p["target.q.0.bias"])),
                        p["target.q.2.weight"], p["target.q.2.bias"]);
    };
    const at::Tensor values = target(data.at(key::next_observation));
    const at::Tensor chooser = double_q ? online->forward(data.at(key::next_observation)) : values;
    const at::Tensor q = online->forward(data.at(key::observation));
    double sum = 0;
    std::int64_t differing = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto best = chooser[i].argmax().item<std::int64_t>();
      differing += best != values[i].argmax().item<std::int64_t>() ? 1 : 0;
      const double next = i % 3 == 0 ? 0.0 : values[i][best].item<double>();
      const double y = data.at(key::reward)[i].item<double>() + 0.9 * next;
      const double d = std::abs(q[i][i % actions].item<double>() - y);
      sum += d < 1 ? d * d / 2 : d - 0.5;
    }
    EXPECT_EQ(differing > 0, double_q) << "the case tells the two apart";
    const Outputs outputs = loss.forward(data, totals_of(loss, {data}));
    EXPECT_NEAR(output(outputs, "loss").item<double>(), sum / rows, 1e-12);
  }
}

TEST(DqnLoss, WeightsAreAMeanOverTheWholeStep) {
  DqnLoss loss(network(), {});
  shake_target(loss);
  Batch data = batch();
  const at::Tensor error = run_step(loss, {data}).rows.at("row_td_error");
  data.add(key::weight, normals({rows}, 9).square());
  const at::Tensor weight = data.at(key::weight);
  const double expected = ((weight * error).sum() / weight.sum()).item<double>();
  EXPECT_NEAR(run_step(loss, {data}).metrics.at("loss"), expected, 1e-12);
  expect_same_however_cut(loss, data);

  // Equal weights are none; errors stay those of the rows.
  data.replace(key::weight, at::full({rows}, 0.25, at::kDouble));
  const Step equal = run_step(loss, {data});
  EXPECT_NEAR(equal.metrics.at("loss"), error.mean().item<double>(), 1e-12);
  EXPECT_TRUE(at::equal(equal.rows.at("row_td_error"), error));
}

TEST(DqnLoss, OnlyTerminatedStopsTheBootstrap) {
  DqnLoss loss(network(), {});
  Batch data = batch();
  data.replace(key::terminated, at::ones({rows}, at::kBool));
  const Step ended = run_step(loss, {data});
  EXPECT_NEAR(ended.metrics.at("target_mean"), data.at(key::reward).mean().item<double>(), 1e-12);
  // What follows a terminal state is not even read.
  data.replace(key::next_observation,
               at::full({rows, size}, std::numeric_limits<double>::quiet_NaN(), at::kDouble));
  EXPECT_EQ(run_step(loss, {data}).metrics.at("loss"), ended.metrics.at("loss"));
}

TEST(DqnLoss, TargetsAreFrozenCopiesThatFollow) {
  DqnLoss loss(network(), {.tau = 0.25, .target_every = 3});
  run_step(loss, {batch()});
  for (const auto& item : loss.module().named_parameters()) {
    EXPECT_EQ(item.value().grad().defined(), item.key().starts_with("network.")) << item.key();
  }
  expect_targets_follow(loss, 4, 0.25, 3);
  loss.reset_targets();
  for (const auto& [target, source] : loss.target_update().pairs) EXPECT_TRUE(at::equal(target, source));
}

TEST(DqnLoss, AStepWithoutRowsHasAZeroLoss) {
  DqnLoss loss(network(), {});
  const Step step = run_step(loss, {batch().slice(0, 0)});
  for (const auto& [name, value] : step.metrics) EXPECT_EQ(value, 0.0) << name;
}

TEST(DqnLoss, RefusesWhatDoesNotFit) {
  DqnLoss loss(network(), {});
  const auto refused = [&](std::string_view name, const at::Tensor& tensor, const char* text) {
    Batch data = batch();
    data.replace(name, tensor);
    try {
      run_step(loss, {data});
      ADD_FAILURE() << name << " was taken";
    } catch (const ContractError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(text));
    }
  };
  refused(key::reward, normals({rows, 1}, 3), "'reward' must be Double of shape [rows], not Double of shape");
  refused(key::terminated, at::zeros({rows}), "'terminated' must be Bool");
  refused(key::action, at::full({rows}, actions, at::kLong), "'action' must lie in [0, 4); it holds 4");
  refused(key::action, at::full({rows}, -1, at::kLong), "it holds -1");
  refused(key::weight, at::ones({rows}), "'weight' must be Double");
  EXPECT_THROW(DqnLoss(network(), {.gamma = 1.5}), ContractError);
  EXPECT_THROW(DqnLoss(network(), {.tau = 0}), ContractError);
  EXPECT_THROW(DqnLoss(network(), {.target_every = 0}), ContractError);
}

TEST(DqnLoss, ItsOneLossIsAlwaysDue) {
  DqnLoss loss(network(), {});
  EXPECT_EQ(loss.loss_names(), std::vector<std::string>{"loss"});
  EXPECT_NO_THROW(loss.set_due({"loss"}));
  EXPECT_THROW(loss.set_due({}), ContractError);
  EXPECT_THROW(loss.set_due({"loss", "loss_actor"}), ContractError);
}

}  // namespace
}  // namespace lockstep::losses
