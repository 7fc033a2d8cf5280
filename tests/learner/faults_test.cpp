// The fourteen faults of the original learner, each right here; numbers as in docs/design.md, section 10.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "learner/trainee.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::learner {
namespace {

using test::expect_same;
using test::Setup;
using test::Trainee;
using testing::HasSubstr;

class Fault : public ::testing::TestWithParam<Sharding> {
 protected:
  comm::Communicator world_ = comm::Communicator::world();
  std::unique_ptr<comm::Collectives> all_ = comm::make_collectives(world_.duplicate(), "auto", 60);
  std::unique_ptr<comm::Collectives> alone_ =
      comm::make_collectives(world_.split(world_.rank(), 0), "mpi", 60);
  bool root() const { return world_.rank() == 0; }
  bool last() const { return world_.rank() == world_.size() - 1; }

  // The same bits of a tensor on every rank.
  void expect_equal_everywhere(const at::Tensor& tensor) {
    const at::Tensor flat = tensor.detach().contiguous();
    const std::string mine(static_cast<const char*>(flat.const_data_ptr()), flat.nbytes());
    for (const std::string& other : comm::all_gather_text(*all_, mine)) EXPECT_EQ(other, mine);
  }
  static ShardedBatch spoilt(const Trainee& at, std::int64_t step, bool here) {
    ShardedBatch batch = at.batch(step);
    if (here) batch.back().at("x")[0][0] = std::nan("");
    return batch;
  }
};

TEST_P(Fault, F01ParametersThatTheLossOwnsAreSynchronised) {
  Trainee run(*all_, {GetParam()});
  run.update(0, 5);
  const auto lent = run.learner->lend_weights();
  expect_equal_everywhere(run.loss->state->temperature);
  EXPECT_FALSE(at::equal(run.loss->state->temperature, test::values({3}, 40)));
}

TEST_P(Fault, F02TheCheckpointHoldsTheLosssStateOutsideTheModel) {
  Trainee run(*all_, {GetParam()});
  run.update(0, 2);
  const StateMap saved = run.learner->checkpoint();
  if (!root()) return;
  for (const char* name : {"training/loss/temperature", "training/loss/target.weight",
                           "training/loss/target.bias", "training/optimizer/temperature/momentum_buffer"})
    EXPECT_TRUE(saved.contains(name)) << name;
}

TEST_P(Fault, F03AbsentOptimizerStateIsClearedNotKept) {
  Trainee before(*all_, {GetParam()}), fresh(*all_, {GetParam()}), later(*all_, {GetParam()});
  before.update(0, 3);
  StateMap saved = before.learner->checkpoint();
  std::erase_if(saved, [](const auto& entry) { return entry.first.starts_with("training/optimizer/"); });
  later.update(5, 9);  // moments that must not survive
  later.learner->load_checkpoint(saved);
  fresh.learner->load_checkpoint(saved);
  later.update(3, 5);
  fresh.update(3, 5);
  const StateMap a = later.learner->checkpoint(), b = fresh.learner->checkpoint();
  if (root()) expect_same(a, b);
}

TEST_P(Fault, F04WhatAStepperNeedsIsCheckedAtConstruction) {
  const auto net = std::make_shared<test::Rich>();
  const auto loss = std::make_shared<test::RichLoss>(net);
  auto stepper = std::make_shared<OptimizationStepper>(
      std::vector<ParameterGroup>{{.parameters = trainable_parameters(*net),
                                   .options = {},
                                   .name = "actor",
                                   .every = 2,
                                   .loss = "loss_actor"}},
      StepperOptions{});
  EXPECT_THAT(
      [&] { Learner(net, loss, stepper, *all_, {.shards = 8, .store = {.sharding = GetParam()}}); },
      testing::ThrowsMessage<ContractError>(testing::AllOf(HasSubstr("'actor'"), HasSubstr("'loss_actor'"),
                                                           HasSubstr("loss_main, loss_temperature"))));
  EXPECT_EQ(stepper->steps(), 0);
}

TEST_P(Fault, F05ANonFiniteLossOnOneRankSkipsTheStepOnAll) {
  Trainee run(*all_, {GetParam()}), clean(*all_, {GetParam()});
  run.update(0, 1);
  const StepResult bad = run.learner->update(spoilt(run, 1, last()));
  EXPECT_FALSE(bad.stepped);
  EXPECT_EQ(run.stepper->skipped(), 1);
  run.update(2, 4);
  clean.update(0, 1);
  // The skipped update drew its noise too.
  EXPECT_EQ(clean.learner->update(spoilt(clean, 1, last())).metrics.count("skipped"), 1u);
  clean.update(2, 4);
  EXPECT_EQ(run.stepper->steps(), 3);
  const StateMap a = run.learner->checkpoint(), b = clean.learner->checkpoint();
  if (root()) expect_same(a, b);
}

TEST_P(Fault, F06AVectorThatTheLossOwnsIsClippedByItsNorm) {
  Trainee run(*all_, {GetParam()});
  const at::Tensor before = test::values({3}, 40);
  run.update(0, 2);  // the second steps the temperatures: SGD, rate 0.1, clipped to 0.05
  EXPECT_GT(run.metrics.back().at("grad_norm_temperature"), 0.05);
  const auto lent = run.learner->lend_weights();
  const double moved = (run.loss->state->temperature.detach() - before).norm().item<double>();
  EXPECT_NEAR(moved, 0.1 * 0.05, 1e-7);
}

TEST_P(Fault, F08WindowsOfAccumulationMayFollowEachOther) {
  Trainee run(*all_, {GetParam(), 2});
  run.accumulate(0, 8);
  EXPECT_EQ(run.stepper->steps(), 4);
  for (std::size_t call = 0; call < run.metrics.size(); ++call) {
    EXPECT_EQ(run.metrics[call].count("loss_main"), 1u);
    EXPECT_EQ(run.metrics[call].count("grad_norm"), call % 2) << "only on the call that steps";
  }
}

TEST_P(Fault, F09TargetsMoveOnRealStepsOnly) {
  Trainee run(*all_, {GetParam(), 2});
  const auto target = [&] {
    const auto lent = run.learner->lend_weights();
    return run.loss->state->target->weight.detach().clone();
  };
  const at::Tensor start = target();
  run.accumulate(0, 3);  // one step and an open window
  run.learner->accumulate(spoilt(run, 3, last()));
  EXPECT_TRUE(at::equal(target(), start));
  run.accumulate(4, 5);
  EXPECT_TRUE(at::equal(target(), start));
  run.accumulate(5, 6);  // the second real step
  EXPECT_FALSE(at::equal(target(), start));
}

TEST_P(Fault, F10DenominatorsAreGlobalWithUnequalRows) {
  // Odd shards have 7 rows, even ones 6: the loss is the mean over all rows, not the mean of means.
  Trainee run(*all_, {GetParam()}), one(*alone_, {Sharding::none});
  EXPECT_EQ(run.learner->compute_loss(run.batch(0)), one.learner->compute_loss(one.batch(0)));
  run.update(0, 1);
  one.update(0, 1);
  EXPECT_EQ(run.metrics, one.metrics);
}

TEST_P(Fault, F11AFailedCoverageCheckLeavesNothingBehind) {
  Trainee run(*all_, {GetParam(), 2}), clean(*all_, {GetParam(), 2});
  at::Tensor& stray = run.loss->state->target->weight;  // frozen until now, and in no group
  run.learner->accumulate(run.batch(9));                // an open window, which the failure drops
  stray.set_requires_grad(true);
  run.loss->trains_target = true;
  EXPECT_THAT([&] { run.learner->accumulate(run.batch(9)); },
              testing::ThrowsMessage<ContractError>(HasSubstr("target.weight")));
  EXPECT_FALSE(stray.grad().defined());
  stray.set_requires_grad(false);
  run.loss->trains_target = false;
  clean.learner->accumulate(clean.batch(9));  // the same draws of noise
  clean.loss->fails = true;
  EXPECT_ANY_THROW(clean.learner->accumulate(clean.batch(9)));
  clean.loss->fails = false;
  run.accumulate(0, 4);
  clean.accumulate(0, 4);
  const StateMap a = run.learner->checkpoint(), b = clean.learner->checkpoint();
  if (root()) expect_same(a, b);
}

TEST_P(Fault, F13SnapshotsNeverAliasLiveStorage) {
  Trainee run(*all_, {GetParam()});
  const StateMap saved = run.learner->checkpoint();
  const StateMap weights = run.learner->get_weights(false);
  const at::Tensor kept = weights.at("first.weight").clone();
  StateMap copy;
  for (const auto& [name, tensor] : saved) copy[name] = tensor.clone();
  run.update(0, 2);
  EXPECT_TRUE(at::equal(weights.at("first.weight"), kept));
  if (root()) expect_same(saved, copy);
}

TEST_P(Fault, F14TheNormIsGlobalAndAStepEqualsThatOfOneRank) {
  Trainee run(*all_, {GetParam()}), one(*alone_, {Sharding::none});
  run.update(0, 3);
  one.update(0, 3);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(run.metrics[i].at("grad_norm"), one.metrics[i].at("grad_norm"));
  const StateMap a = run.learner->checkpoint(), b = one.learner->checkpoint();
  if (root()) expect_same(a, b);
}

// Rule of the contract beside the faults: no snapshot of half a window.
TEST_P(Fault, ACheckpointInsideAnOpenWindowIsRefusedOnAllRanks) {
  Trainee run(*all_, {GetParam(), 2});
  run.accumulate(0, 1);
  EXPECT_THAT([&] { run.learner->checkpoint(); },
              testing::ThrowsMessage<ContractError>(HasSubstr("1 of 2 micro-batches")));
  EXPECT_THAT([&] { run.learner->update(run.batch(1)); },
              testing::ThrowsMessage<ContractError>(HasSubstr("1 of 2 micro-batches")));
  run.accumulate(1, 2);
  EXPECT_EQ(run.stepper->steps(), 1);
}

TEST_P(Fault, ACheckpointThatDoesNotFitIsRefusedBeforeAnythingIsTouched) {
  Trainee run(*all_, {GetParam()});
  run.update(0, 2);
  const StateMap before = run.learner->checkpoint();
  StateMap wrong = before;
  if (root()) {
    wrong.erase("training/loss/temperature");
    wrong["model/gain"] = at::zeros({2});
    wrong["model/surplus"] = at::zeros({1});
  }
  EXPECT_THAT([&] { run.learner->load_checkpoint(wrong); },
              testing::ThrowsMessage<InputError>(testing::AllOf(
                  HasSubstr("missing: training/loss/temperature"), HasSubstr("unexpected: model/surplus"),
                  HasSubstr("model/gain is float32 [2], wanted float32 []"))));
  const StateMap after = run.learner->checkpoint();
  if (root()) expect_same(before, after);
}

// N1: a gradient that is not finite on one rank, though its loss is: all skip, nothing was touched.
TEST_P(Fault, N1ANonFiniteGradientOnOneRankSkipsTheStepOnAll) {
  Trainee run(*all_, {GetParam()});
  run.update(0, 1);
  const StateMap before = run.learner->checkpoint();
  run.loss->poisons_gain = last();
  EXPECT_FALSE(run.learner->update(run.batch(1)).stepped);
  run.loss->poisons_gain = false;
  const StateMap after = run.learner->checkpoint();
  for (const auto& [name, tensor] : before) {
    const bool counter = name.starts_with("training/counters/");
    EXPECT_TRUE(counter || at::equal(tensor, after.at(name))) << name;
  }
  run.update(2, 4);
  EXPECT_EQ(run.stepper->steps(), 3);
}

// N2: at every step; the run stops and names the parameter.
TEST_P(Fault, N2NonFiniteGradientsAtEveryStepStopTheRun) {
  Trainee run(*all_, {GetParam()});
  run.loss->poisons_gain = last();
  for (std::int64_t step = 0; step < 10; ++step) EXPECT_FALSE(run.learner->update(run.batch(step)).stepped);
  EXPECT_THAT(
      [&] { run.learner->update(run.batch(10)); },
      testing::ThrowsMessage<NumericError>(testing::AllOf(
          HasSubstr("11 steps in a row"), HasSubstr("first parameter with a non-finite gradient: gain"))));
}

// One bit flipped in a rank's memory between two steps is found before the next, and the rank named on all.
TEST_P(Fault, D1AFlippedBitAtRestIsFoundAndItsRankNamed) {
  Trainee run(*all_, {.sharding = GetParam(), .hash_every = 1});
  run.update(0, 2);
  const int culprit = world_.size() - 1;
  if (world_.rank() == culprit) {
    const StateView state = run.learner->state();
    const auto held = std::ranges::find_if(state.entries, [](const StateEntry& entry) {
      return entry.name.starts_with("model/") && !entry.extents.empty();
    });
    held->extents.front().data[1] ^= std::byte{4};
  }
  EXPECT_THAT([&] { run.update(2, 3); }, testing::ThrowsMessage<NumericError>(
                                             HasSubstr("of rank " + std::to_string(culprit) + " changed")));
}

TEST_P(Fault, D1HashesChangeNothing) {
  Trainee hashed(*all_, {.sharding = GetParam(), .hash_every = 2}), plain(*all_, {.sharding = GetParam()});
  hashed.update(0, 5);
  plain.update(0, 5);
  const StateMap a = hashed.learner->checkpoint(), b = plain.learner->checkpoint();
  if (root()) expect_same(a, b);
  EXPECT_EQ(hashed.metrics, plain.metrics);
}

INSTANTIATE_TEST_SUITE_P(Under, Fault,
                         ::testing::Values(Sharding::none, Sharding::optimizer, Sharding::parameters),
                         [](const auto& info) {
                           return info.param == Sharding::none        ? "None"
                                  : info.param == Sharding::optimizer ? "Optimizer"
                                                                      : "Parameters";
                         });

}  // namespace
}  // namespace lockstep::learner
