// The stepper against TorchRL: group `stepper` of torchrl_losses.h5, calls in pairs as one update of two
// leaves.
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "learner/regression.hpp"
#include "lockstep/learner/learner.hpp"
#include "support/reference.hpp"

namespace lockstep::learner {
namespace {

at::Tensor tensor_of(test::ReferenceArray<double> array) {
  return at::from_blob(array.values.data(), array.shape, at::kDouble).clone();
}

void expect_close(const at::Tensor& actual, const at::Tensor& expected, const std::string& name) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << name;
  const at::Tensor excess = (actual - expected).abs() - 1e-12 * (1 + expected.abs());
  EXPECT_LE(excess.max().item<double>(), 0.0) << name;
}

TEST(StepperReference, SixCallsWithAccumulationTwoEqualTorchRl) {
  const test::ReferenceFile file("torchrl_losses.h5");
  const auto load = [&](const std::string& name) { return tensor_of(file.doubles("stepper/" + name)); };
  const auto setting = [&](const char* name) { return file.number("stepper", name); };
  const at::Tensor w = load("w0.0.weight");
  const auto net = std::make_shared<test::Net>(w.size(0), at::kDouble);
  net->w0.set_data(w);
  net->b0.set_data(load("w0.0.bias"));
  net->w1.set_data(load("w0.2.weight"));
  net->b1.set_data(load("w0.2.bias"));

  const auto accumulation = static_cast<std::int64_t>(setting("accumulation"));
  auto stepper = std::make_shared<OptimizationStepper>(
      std::vector<ParameterGroup>{{.parameters = trainable_parameters(*net),
                                   .options = {.kind = optimizer_kind_from(file.text("stepper", "optimizer")),
                                               .learning_rate = setting("learning_rate"),
                                               .weight_decay = 0,
                                               .beta1 = setting("beta1"),
                                               .beta2 = setting("beta2"),
                                               .epsilon = setting("epsilon")}}},
      StepperOptions{.accumulation = accumulation, .clip_norm = setting("clip_norm")});
  const auto collectives = comm::make_collectives(comm::Communicator::world(), "mpi", 60);
  Learner learner(net, std::make_shared<test::RegressionLoss>(net), stepper, *collectives, {.shards = 1});

  int calls = 0;
  while (file.contains("stepper/x" + std::to_string(calls))) ++calls;
  ASSERT_GT(calls, 0);
  for (int first = 0; first < calls; first += static_cast<int>(accumulation)) {
    std::vector<at::Tensor> x, y;
    double mean_loss = 0;
    for (int call = first; call < first + accumulation; ++call) {
      const std::string i = std::to_string(call);
      x.push_back(load("x" + i));
      y.push_back(load("y" + i));
      const double expected = file.scalar("stepper/o" + i + ".loss_mse");
      // The call's own loss, before the window steps.
      Batch own;
      own.add("x", x.back());
      own.add("y", y.back());
      EXPECT_NEAR(learner.compute_loss({own}).at("loss_mse"), expected, 1e-12 * (1 + std::abs(expected)))
          << i;
      mean_loss += expected / static_cast<double>(accumulation);
    }
    Batch window;
    window.add("x", at::cat(x));
    window.add("y", at::cat(y));
    const StepResult result = learner.update({window});
    const std::string last = std::to_string(first + accumulation - 1);
    const double norm = file.scalar("stepper/o" + last + ".grad_norm");
    EXPECT_NEAR(result.metrics.at("grad_norm"), norm, 1e-12 * (1 + norm)) << last;
    EXPECT_NEAR(result.metrics.at("loss_mse"), mean_loss, 1e-12 * (1 + std::abs(mean_loss)));
  }
  const std::string end = "w" + std::to_string(calls);
  expect_close(net->w0.detach(), load(end + ".0.weight"), "0.weight");
  expect_close(net->b0.detach(), load(end + ".0.bias"), "0.bias");
  expect_close(net->w1.detach(), load(end + ".2.weight"), "2.weight");
  expect_close(net->b1.detach(), load(end + ".2.bias"), "2.bias");
}

}  // namespace
}  // namespace lockstep::learner
