// Every loss of torchrl_losses.h5 through a learner: whatever is sharded, over whichever ranks, however the
// rows are cut, metrics, row outputs and gradients are the file's. Gradients are seen in the weights: after
// one step of SGD at rate 1 each parameter is its old value less its gradient.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "lockstep/learner/learner.hpp"
#include "losses/reference_case.hpp"
#include "losses/reference_group.hpp"

namespace lockstep::learner {
namespace {

using losses::expect_close;
using losses::ReferenceCase;

// Shards of 1, 2, 3, ... parts of the rows, so that means of the shards' means are wrong. Of few rows the
// first shard has none.
Batch shard_of(const Batch& batch, std::int64_t shard, std::int64_t shards) {
  const auto first = [&](std::int64_t of) { return batch.rows() * of * (of + 1) / (shards * (shards + 1)); };
  return batch.slice(first(shard), first(shard + 1));
}

struct Step {
  ReferenceCase reference;
  std::shared_ptr<torch::nn::Module> module = reference.loss->module().shared_from_this();
  StateMap before{}, after{};          // every parameter, whole, on every rank
  std::vector<std::int64_t> shards{};  // this rank's
  std::int64_t all_shards = 0;
  StepResult result{};
};

std::shared_ptr<OptimizationStepper> subtracting_stepper(torch::nn::Module& module,
                                                         std::int64_t accumulation) {
  const OptimizerOptions sgd{.kind = OptimizerKind::sgd, .learning_rate = 1};
  return std::make_shared<OptimizationStepper>(
      std::vector<ParameterGroup>{{.parameters = trainable_parameters(module), .options = sgd}},
      StepperOptions{.accumulation = accumulation, .clip_norm = 0});
}

// Collective. The loss's whole module is what is published, so that every parameter can be read.
Step take_step(const std::string& name, Sharding sharding, std::int64_t shards, std::int64_t accumulation,
               comm::Collectives& collectives) {
  Step step{.reference = losses::reference_case(name), .all_shards = shards};
  for (const NamedTensor& named : all_tensors(*step.module))
    step.before[named.name] = named.tensor.detach().clone();
  Learner learner(step.module, step.reference.loss, subtracting_stepper(*step.module, accumulation),
                  collectives, {.shards = shards, .store = {.sharding = sharding}});
  ShardedBatch batch;
  for (std::int64_t own = 0; own < learner.own_shards(); ++own) {
    step.shards.push_back(learner.first_shard() + own * learner.shard_stride());
    batch.push_back(shard_of(step.reference.batch, step.shards.back(), shards));
  }
  step.result = learner.update(batch);
  step.after = learner.get_weights(/*cpu_offload=*/false);
  return step;
}

void expect_metrics(const Step& step) {
  ASSERT_TRUE(step.result.stepped);
  for (const auto& [name, expected] : step.reference.metrics) {
    ASSERT_EQ(step.result.metrics.count(name), 1u) << name;
    expect_close(step.result.metrics.at(name), expected, name);
  }
  double squares = 0;
  for (const auto& [name, gradient] : step.reference.gradients)
    squares += gradient.square().sum().item<double>();
  expect_close(step.result.metrics.at("grad_norm"), std::sqrt(squares), "grad_norm");
}

void expect_row_outputs(const Step& step) {
  if (!step.reference.td_error.defined()) return;
  Batch errors;
  errors.add("td_error", step.reference.td_error);
  ASSERT_EQ(step.result.rows.size(), step.shards.size());
  for (std::size_t own = 0; own < step.shards.size(); ++own)
    expect_close(step.result.rows[own].at("row_td_error"),
                 shard_of(errors, step.shards[own], step.all_shards).at("td_error"), "row_td_error");
}

// Targets, which nothing trains, stay as they were to the bit.
void expect_gradients(const Step& step) {
  ASSERT_EQ(step.after.size(), step.before.size());
  std::size_t trained = 0;
  for (const auto& [name, before] : step.before) {
    const auto gradient = step.reference.gradients.find(name);
    if (gradient == step.reference.gradients.end()) {
      EXPECT_TRUE(name.starts_with("target")) << name;
      EXPECT_TRUE(at::equal(step.after.at(name), before)) << name;
      continue;
    }
    expect_close(before - step.after.at(name), gradient->second, name);
    ++trained;
  }
  EXPECT_EQ(trained, step.reference.gradients.size());
}

class LossesReference : public ::testing::TestWithParam<std::tuple<std::string, Sharding>> {};

TEST_P(LossesReference, ALearnersStepAgrees) {
  const auto& [name, sharding] = GetParam();
  const auto collectives = comm::make_collectives(comm::Communicator::world().duplicate(), "auto", 60);
  for (const std::int64_t shards : {2, 4})
    for (const std::int64_t accumulation : {1, 2}) {
      SCOPED_TRACE(testing::Message() << shards << " shards, accumulation " << accumulation);
      const Step step = take_step(name, sharding, shards, accumulation, *collectives);
      expect_metrics(step);
      expect_row_outputs(step);
      expect_gradients(step);
    }
}

std::string name_of(Sharding sharding) {
  if (sharding == Sharding::none) return "none";
  return sharding == Sharding::optimizer ? "optimizer" : "parameters";
}

INSTANTIATE_TEST_SUITE_P(
    TorchRl, LossesReference,
    ::testing::Combine(::testing::ValuesIn(losses::reference_cases()),
                       ::testing::Values(Sharding::none, Sharding::optimizer, Sharding::parameters)),
    [](const auto& info) { return std::get<0>(info.param) + "_" + name_of(std::get<1>(info.param)); });

TEST(LossesReferenceFile, IsThere) {
  EXPECT_TRUE(test::ReferenceFile::exists(losses::reference_file)) << test::ReferenceFile::folder();
}

}  // namespace
}  // namespace lockstep::learner
