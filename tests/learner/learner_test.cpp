// The Learner on one rank and on many: the same bits, and the contract's order of a step.
#include "lockstep/learner/learner.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "learner/regression.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::learner {
namespace {

using test::Net;
using test::RegressionLoss;

struct Case {
  std::int64_t shards = 8;
  std::int64_t accumulation = 1;
  Sharding sharding = Sharding::optimizer;
  OptimizerOptions optimizer{.learning_rate = 0.01, .weight_decay = 0.01};
  double clip_norm = 0.5;
  std::int64_t rows = 6;  // a shard
  at::ScalarType type = at::kFloat;
  std::size_t bucket_bytes = 25u << 20;
  std::int64_t max_skips = 10;
};

struct Trained {
  std::shared_ptr<Net> net;
  std::shared_ptr<OptimizationStepper> stepper;
  std::unique_ptr<Learner> learner;
};

Trained make(comm::Collectives& collectives, const Case& setup) {
  Trained made;
  made.net = std::make_shared<Net>(37, setup.type);
  made.stepper = std::make_shared<OptimizationStepper>(
      std::vector<ParameterGroup>{
          {.parameters = trainable_parameters(*made.net), .options = setup.optimizer}},
      StepperOptions{
          .accumulation = setup.accumulation, .clip_norm = setup.clip_norm, .max_skips = setup.max_skips});
  made.learner = std::make_unique<Learner>(
      made.net, std::make_shared<RegressionLoss>(made.net), made.stepper, collectives,
      LearnerOptions{.shards = setup.shards,
                     .store = {.sharding = setup.sharding, .bucket_bytes = setup.bucket_bytes}});
  return made;
}

ShardedBatch batch_for(const Learner& learner, std::int64_t step, const Case& setup) {
  ShardedBatch batch;
  for (std::int64_t s = 0; s < learner.own_shards(); ++s)
    batch.push_back(test::regression_shard(step, learner.first_shard() + s,
                                           setup.rows + (learner.first_shard() + s) % 2, setup.type));
  return batch;
}

// Everything a run leaves, as values: parameters, moments of this rank gathered from the state view, metrics.
struct Outcome {
  std::map<std::string, at::Tensor> weights;
  std::vector<losses::Metrics> metrics;
};

Outcome train(comm::Collectives& collectives, const Case& setup, int steps = 5) {
  Trained trained = make(collectives, setup);
  Outcome outcome;
  for (int step = 0; step < steps; ++step)
    outcome.metrics.push_back(trained.learner->update(batch_for(*trained.learner, step, setup)).metrics);
  outcome.weights = trained.learner->get_weights(/*cpu_offload=*/false);
  return outcome;
}

void expect_same_bits(const Outcome& a, const Outcome& b) {
  ASSERT_EQ(a.weights.size(), b.weights.size());
  for (const auto& [name, tensor] : a.weights) EXPECT_TRUE(at::equal(tensor, b.weights.at(name))) << name;
  EXPECT_EQ(a.metrics, b.metrics);
}

class LearnerTest : public ::testing::Test {
 protected:
  comm::Communicator world_ = comm::Communicator::world();
  std::unique_ptr<comm::Collectives> all_ = comm::make_collectives(world_.duplicate(), "auto", 60);
  std::unique_ptr<comm::Collectives> over_mpi_ = comm::make_collectives(world_.duplicate(), "mpi", 60);
  // A group of this rank alone: the whole batch on one rank.
  std::unique_ptr<comm::Collectives> alone_ =
      comm::make_collectives(world_.split(world_.rank(), 0), "mpi", 60);
};

TEST_F(LearnerTest, AnyNumberOfRanksGivesTheBitsOfOneRank) {
  for (const Sharding sharding : {Sharding::none, Sharding::optimizer})
    for (const std::int64_t accumulation : {1, 2})
      for (const std::size_t bucket_bytes : {std::size_t{256}, std::size_t{25u << 20}}) {
        const Case setup{.accumulation = accumulation, .sharding = sharding, .bucket_bytes = bucket_bytes};
        const Outcome one = train(*alone_, {.accumulation = accumulation});
        expect_same_bits(train(*all_, setup), one);
        expect_same_bits(train(*over_mpi_, setup), one);
      }
}

TEST_F(LearnerTest, EveryOptimizerAndTypeGivesTheBitsOfOneRank) {
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::adam, OptimizerKind::sgd})
    for (const double momentum : {0.0, 0.9})
      for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
        const Case setup{
            .optimizer = {.kind = kind, .learning_rate = 0.01, .weight_decay = 0.02, .momentum = momentum},
            .type = type};
        expect_same_bits(train(*all_, setup), train(*alone_, setup));
      }
}

// Equal leaves make equal trees: (S, k) = (4, 2) and (8, 1) over the same rows.
TEST_F(LearnerTest, LeavesAreTheSameWhetherTheyAreShardsOrAccumulated) {
  if (world_.size() > 4) GTEST_SKIP() << "4 shards fit 4 ranks at most";
  const Case eight{.shards = 8, .accumulation = 1};
  const Case four{.shards = 4, .accumulation = 2};
  const auto run = [&](const Case& setup, std::int64_t leaves_a_shard) {
    Trained trained = make(*all_, setup);
    Outcome outcome;
    for (int step = 0; step < 4; ++step) {
      ShardedBatch batch;
      for (std::int64_t s = 0; s < trained.learner->own_shards(); ++s) {
        const std::int64_t first = (trained.learner->first_shard() + s) * leaves_a_shard;
        Batch whole;
        std::vector<at::Tensor> x, y;
        for (std::int64_t leaf = first; leaf < first + leaves_a_shard; ++leaf) {
          const Batch part = test::regression_shard(step, leaf, 6);
          x.push_back(part.at("x"));
          y.push_back(part.at("y"));
        }
        whole.add("x", at::cat(x));
        whole.add("y", at::cat(y));
        batch.push_back(whole);
      }
      outcome.metrics.push_back(trained.learner->update(batch).metrics);
    }
    outcome.weights = trained.learner->get_weights(false);
    return outcome;
  };
  expect_same_bits(run(four, 2), run(eight, 1));
}

TEST_F(LearnerTest, TheReportedNormIsTheGlobalOneBeforeClipping) {
  const Case setup{.clip_norm = 0.001};
  Trained trained = make(*all_, setup);
  const double reported =
      trained.learner->update(batch_for(*trained.learner, 0, setup)).metrics.at("grad_norm");
  // The whole batch at once, by autograd alone.
  const auto net = std::make_shared<Net>();
  RegressionLoss loss(net);
  std::vector<at::Tensor> x, y;
  for (std::int64_t shard = 0; shard < setup.shards; ++shard) {
    const Batch part = test::regression_shard(0, shard, setup.rows + shard % 2);
    x.push_back(part.at("x"));
    y.push_back(part.at("y"));
  }
  Batch whole;
  whole.add("x", at::cat(x));
  whole.add("y", at::cat(y));
  losses::Totals totals;
  loss.add_totals(whole, totals);
  loss.forward(whole, totals)[0].second.backward();
  double squares = 0;
  for (const auto& parameter : net->parameters())
    squares += parameter.grad().to(at::kDouble).square().sum().item<double>();
  EXPECT_NEAR(reported, std::sqrt(squares), 1e-6 * std::sqrt(squares));
  EXPECT_GT(reported, setup.clip_norm);
}

TEST_F(LearnerTest, ANonFiniteLossOnOneRankSkipsTheStepOnAll) {
  const Case setup;
  Trained trained = make(*all_, setup);
  trained.learner->update(batch_for(*trained.learner, 0, setup));
  const auto before = trained.learner->get_weights(false);
  ShardedBatch bad = batch_for(*trained.learner, 1, setup);
  if (all_->rank() == all_->size() - 1) bad.back().at("x")[0][0] = std::nan("");
  const StepResult result = trained.learner->update(bad);
  EXPECT_FALSE(result.stepped);
  EXPECT_FALSE(result.agreed.finite);
  EXPECT_EQ(trained.stepper->steps(), 1);
  EXPECT_EQ(trained.stepper->skipped(), 1);
  for (const auto& [name, tensor] : trained.learner->get_weights(false))
    EXPECT_TRUE(at::equal(tensor, before.at(name))) << name;
  EXPECT_TRUE(trained.learner->update(batch_for(*trained.learner, 2, setup)).stepped);

  // A run that never met the bad batch ends in the same bits: moments and counters were untouched.
  Trained clean = make(*all_, setup);
  clean.learner->update(batch_for(*clean.learner, 0, setup));
  clean.learner->update(batch_for(*clean.learner, 2, setup));
  const auto expected = clean.learner->get_weights(false);
  for (const auto& [name, tensor] : trained.learner->get_weights(false))
    EXPECT_TRUE(at::equal(tensor, expected.at(name))) << name;
}

TEST_F(LearnerTest, StopsAfterTooManySkipsInARow) {
  const Case setup{.max_skips = 2};
  Trained trained = make(*all_, setup);
  const auto bad = [&] {
    ShardedBatch batch = batch_for(*trained.learner, 0, setup);
    batch[0].at("y").fill_(std::numeric_limits<float>::infinity());
    return batch;
  };
  trained.learner->update(bad());
  trained.learner->update(bad());
  EXPECT_THROW(trained.learner->update(bad()), NumericError);
}

TEST_F(LearnerTest, VotesAreAgreedByAll) {
  const Case setup;
  Trained trained = make(*all_, setup);
  const bool last = all_->rank() == all_->size() - 1;
  EXPECT_FALSE(trained.learner->update(batch_for(*trained.learner, 0, setup)).agreed.stop);
  const StepResult result =
      trained.learner->update(batch_for(*trained.learner, 1, setup), {.stop = last, .save_failed = false});
  EXPECT_TRUE(result.agreed.stop);
  EXPECT_FALSE(result.agreed.save_failed);
}

TEST_F(LearnerTest, OptimizerShardingKeepsAShareOfTheState) {
  const Case setup{.bucket_bytes = 256};
  Trained trained = make(*all_, setup);
  std::uint64_t own = 0;
  for (const StateEntry& entry : trained.learner->state().entries)
    if (entry.name.ends_with("exp_avg"))
      for (const Extent& extent : entry.extents) own += extent.length;
  all_->all_reduce(&own, 1, Dtype::int64, comm::ReduceOp::sum).wait();
  EXPECT_EQ(own, 37u * 4 + 37 + 37 + 1);  // every element has exactly one owner
}

TEST_F(LearnerTest, StateNamesModelOptimizerAndCounters) {
  Trained trained = make(*all_, {});
  std::vector<std::string> names;
  for (const StateEntry& entry : trained.learner->state().entries) names.push_back(entry.name);
  EXPECT_THAT(names,
              ::testing::IsSupersetOf({"model/weight0", "model/bias1", "training/optimizer/weight0/exp_avg",
                                       "training/optimizer/bias1/exp_avg_sq", "training/optimizer/bias1/step",
                                       "training/counters/steps", "training/counters/skipped"}));
}

TEST_F(LearnerTest, GetWeightsGivesIndependentTensorsOnRankZero) {
  const Case setup;
  Trained trained = make(*all_, setup);
  const auto weights = trained.learner->get_weights();
  EXPECT_EQ(weights.size(), all_->rank() == 0 ? 4u : 0u);
  const auto copy = trained.learner->get_weights(false);
  const at::Tensor kept = copy.at("weight0").clone();
  trained.learner->update(batch_for(*trained.learner, 0, setup));
  EXPECT_TRUE(at::equal(copy.at("weight0"), kept));
  EXPECT_FALSE(at::equal(copy.at("weight0"), trained.net->w0));
}

TEST_F(LearnerTest, ShardsMustDivide) {
  EXPECT_THROW(make(*all_, {.shards = 8 * all_->size() + (all_->size() > 1 ? 1 : -8 * all_->size())}),
               ContractError);
}

// --- What goes wrong on one rank, told as the contract asks ---

struct StepperErrors : LearnerTest {
  template <class LossType>
  void expect_error(const std::string& text) {
    const auto net = std::make_shared<Net>();
    auto stepper = std::make_shared<OptimizationStepper>(
        std::vector<ParameterGroup>{
            {.parameters = {{"weight0", net->w0}, {"bias0", net->b0}}, .options = {}}},
        StepperOptions{});
    Learner learner(net, std::make_shared<LossType>(net), stepper, *alone_, {.shards = 1});
    ShardedBatch batch{test::regression_shard(0, 0, 6)};
    try {
      learner.update(batch);
      FAIL() << "no error";
    } catch (const ContractError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(text));
    }
    for (const auto& parameter : net->parameters()) EXPECT_FALSE(parameter.grad().defined());
    EXPECT_EQ(stepper->steps(), 0);
  }
};

struct NoLoss : RegressionLoss {
  using RegressionLoss::RegressionLoss;
  losses::Outputs forward(const Batch&, const losses::Totals&) override {
    return {{"objective", at::zeros({})}, {"cost", at::zeros({})}};
  }
};
struct VectorLoss : RegressionLoss {
  using RegressionLoss::RegressionLoss;
  losses::Outputs forward(const Batch& leaf, const losses::Totals&) override {
    return {{"loss_rows", (net->forward(leaf.at("x")) - leaf.at("y")).squeeze(1)}};
  }
};

TEST_F(StepperErrors, NoLossNamesTheKeysFound) {
  expect_error<NoLoss>("objective, cost");
}
TEST_F(StepperErrors, ANonScalarLossNamesKeyAndShape) {
  expect_error<VectorLoss>("'loss_rows' has shape [6]");
}
TEST_F(StepperErrors, AParameterThatNoGroupHoldsIsNamedAndItsGradientDropped) {
  expect_error<RegressionLoss>("weight1, bias1");
}

TEST_F(LearnerTest, OptionsAreChecked) {
  const auto net = std::make_shared<Net>();
  const auto make_stepper = [&](const StepperOptions& options) {
    return OptimizationStepper({{.parameters = trainable_parameters(*net), .options = {}}}, options);
  };
  EXPECT_THROW(make_stepper({.accumulation = 0}), ContractError);
  EXPECT_THROW(make_stepper({.accumulation = 3}), ContractError);
  EXPECT_THROW(make_stepper({.clip_norm = -1}), ContractError);
  EXPECT_THROW(OptimizationStepper({}, {}), ContractError);
  EXPECT_THROW(OptimizationStepper({{.parameters = {{"a", net->w0}, {"b", net->w0}}, .options = {}}}, {}),
               ContractError);
}

struct Normalised : Net {
  Normalised() { register_buffer("running_mean", at::zeros({3})); }
};

TEST_F(LearnerTest, RunningStatisticsAreRefusedByName) {
  const auto net = std::make_shared<Normalised>();
  auto stepper = std::make_shared<OptimizationStepper>(
      std::vector<ParameterGroup>{{.parameters = trainable_parameters(*net), .options = {}}},
      StepperOptions{});
  EXPECT_THAT([&] { Learner(net, std::make_shared<RegressionLoss>(net), stepper, *alone_, {.shards = 1}); },
              ::testing::ThrowsMessage<ContractError>(::testing::HasSubstr("running_mean")));
}

TEST_F(LearnerTest, FrozenParametersStayAndTiedOnesAppearOnce) {
  struct Tied : Net {
    Tied() { register_parameter("again", w0), b0.set_requires_grad(false); }
  };
  const auto net = std::make_shared<Tied>();
  std::vector<std::string> names;
  for (const NamedTensor& parameter : trainable_parameters(*net)) names.push_back(parameter.name);
  EXPECT_THAT(names, ::testing::ElementsAre("weight0", "weight1", "bias1"));
  auto stepper = std::make_shared<OptimizationStepper>(
      std::vector<ParameterGroup>{{.parameters = trainable_parameters(*net), .options = {}}},
      StepperOptions{});
  Learner learner(net, std::make_shared<RegressionLoss>(net), stepper, *all_, {.shards = all_->size()});
  const at::Tensor frozen = net->b0.clone();
  learner.update({test::regression_shard(0, learner.first_shard(), 6)});
  EXPECT_TRUE(at::equal(net->b0, frozen));
  EXPECT_FALSE(at::equal(net->w0, test::values({37, 4}, 1)));
}

}  // namespace
}  // namespace lockstep::learner
