// One typed suite over every sharding: whatever is sharded, the bits are those of one rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "learner/trainee.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::learner {
namespace {

using test::expect_same;
using test::Setup;
using test::Trainee;

class ShardingTest : public ::testing::TestWithParam<Sharding> {
 protected:
  comm::Communicator world_ = comm::Communicator::world();
  std::unique_ptr<comm::Collectives> all_ = comm::make_collectives(world_.duplicate(), "auto", 60);
  std::unique_ptr<comm::Collectives> over_mpi_ = comm::make_collectives(world_.duplicate(), "mpi", 60);
  std::unique_ptr<comm::Collectives> alone_ =
      comm::make_collectives(world_.split(world_.rank(), 0), "mpi", 60);

  // Rank 0 holds the map of the group; alone everybody does.
  void expect_equal_runs(Trainee& run, Trainee& one) {
    const StateMap map = run.learner->checkpoint(), expected = one.learner->checkpoint();
    if (world_.rank() == 0) expect_same(map, expected);
    EXPECT_EQ(run.metrics, one.metrics);
  }
};

TEST_P(ShardingTest, UpdatesGiveTheBitsOfOneRank) {
  for (const std::int64_t accumulation : {1, 2, 4})
    for (comm::Collectives* group : {all_.get(), over_mpi_.get()}) {
      Trainee run(*group, {GetParam(), accumulation}), one(*alone_, {Sharding::none, accumulation});
      run.update(0, 5);
      one.update(0, 5);
      expect_equal_runs(run, one);
    }
}

TEST_P(ShardingTest, AccumulatedMicroBatchesGiveTheBitsOfOneRank) {
  for (const std::int64_t accumulation : {1, 2, 4}) {
    Trainee run(*all_, {GetParam(), accumulation}), one(*alone_, {Sharding::none, accumulation});
    run.accumulate(0, 4 * accumulation);
    one.accumulate(0, 4 * accumulation);
    EXPECT_EQ(run.stepper->steps(), 4);
    expect_equal_runs(run, one);
  }
}

// Shards inside a group, sums across groups: the same tree, so the same bits.
TEST_P(ShardingTest, ReplicasGiveTheBitsOfOneRank) {
  for (std::int64_t replicas = 1; replicas <= all_->size(); replicas *= 2) {
    Trainee run(*all_, {.sharding = GetParam(), .accumulation = 2, .replicas = replicas});
    Trainee one(*alone_, {.sharding = Sharding::none, .accumulation = 2});
    run.update(0, 4);
    one.update(0, 4);
    expect_equal_runs(run, one);
  }
  EXPECT_THROW(Trainee(*all_, {.sharding = GetParam(), .replicas = 3}), ContractError);
}

// One rank with sharded parameters goes through the same gathers and gates.
TEST_P(ShardingTest, OneRankGivesTheBitsOfNoSharding) {
  Trainee run(*alone_, {GetParam(), 2}), one(*alone_, {Sharding::none, 2});
  run.update(0, 3);
  one.update(0, 3);
  expect_same(run.learner->checkpoint(), one.learner->checkpoint());
}

// A checkpoint of one sharding goes on under another, on other ranks, as if nothing had happened.
TEST_P(ShardingTest, CheckpointsMoveToEverySharding) {
  for (const Sharding to : {Sharding::none, Sharding::optimizer, Sharding::parameters}) {
    Trainee straight(*alone_, {Sharding::none, 1}), before(*all_, {GetParam(), 1}), after(*all_, {to, 1});
    straight.update(0, 5);
    before.update(0, 3);
    const StateMap saved = before.learner->checkpoint();
    before.update(3, 4);  // what is saved must not follow
    after.update(10, 12);
    after.learner->load_checkpoint(saved);
    after.update(3, 5);
    const StateMap map = after.learner->checkpoint(), expected = straight.learner->checkpoint();
    if (world_.rank() == 0) expect_same(map, expected);
  }
}

TEST_P(ShardingTest, GetWeightsGivesWholeTensors) {
  Trainee run(*all_, {GetParam(), 1}), one(*alone_, {Sharding::none, 1});
  run.update(0, 2);
  one.update(0, 2);
  const StateMap expected = one.learner->get_weights();
  EXPECT_FALSE(expected.contains("temperature"));
  const StateMap root = run.learner->get_weights(true), everywhere = run.learner->get_weights(false);
  expect_same(everywhere, expected);
  if (world_.rank() == 0)
    expect_same(root, expected);
  else
    EXPECT_TRUE(root.empty());
}

TEST_P(ShardingTest, ComputeLossTrainsNothingAndEqualsTheStepsOwn) {
  Trainee run(*all_, {GetParam(), 2});
  run.update(0, 1);
  const StateMap before = run.learner->checkpoint();
  const losses::Metrics computed = run.learner->compute_loss(run.batch(1));
  const StateMap after = run.learner->checkpoint();
  if (world_.rank() == 0) expect_same(before, after);
  run.update(1, 2);
  EXPECT_EQ(computed.at("loss_main"), run.metrics.back().at("loss_main"));
}

TEST_P(ShardingTest, LentWeightsAreWholeAndNoStepBegins) {
  Trainee run(*all_, {GetParam(), 1});
  {
    const auto lent = run.learner->lend_weights();
    const at::NoGradGuard no_gradient;
    EXPECT_TRUE(at::isfinite(run.net->forward(test::values({5, 4}, 77))).all().item<bool>());
    if (GetParam() == Sharding::parameters) {
      EXPECT_THROW(run.update(0, 1), ContractError);
    }
  }
  run.update(0, 1);
}

// Row outputs come back by shard, in row order, whatever the leaves.
TEST_P(ShardingTest, RowOutputsAreHandedBackByShard) {
  Trainee run(*all_, {GetParam(), 2}), whole(*alone_, {Sharding::none, 1});
  const StepResult result = run.learner->update(run.batch(0));
  const StepResult expected = whole.learner->update(whole.batch(0));
  ASSERT_EQ(static_cast<std::int64_t>(result.rows.size()), run.learner->own_shards());
  for (std::int64_t own = 0; own < run.learner->own_shards(); ++own) {
    const at::Tensor& mine = result.rows[static_cast<std::size_t>(own)].at("row_error");
    const at::Tensor& theirs = expected.rows[static_cast<std::size_t>(run.shard(own))].at("row_error");
    EXPECT_TRUE(at::allclose(mine, theirs, 1e-5, 1e-6)) << own;
  }
}

INSTANTIATE_TEST_SUITE_P(Every, ShardingTest,
                         ::testing::Values(Sharding::none, Sharding::optimizer, Sharding::parameters),
                         [](const auto& info) {
                           return info.param == Sharding::none        ? "None"
                                  : info.param == Sharding::optimizer ? "Optimizer"
                                                                      : "Parameters";
                         });

// --- What only sharded parameters show ---

class UnitTest : public ShardingTest {};

TEST_F(UnitTest, ParametersAreThereOnlyWhileTheirUnitIsUsed) {
  Trainee run(*all_, {Sharding::parameters, 1});
  EXPECT_THROW(run.net->first->weight.sum(), c10::Error);
  run.update(0, 1);
  EXPECT_THROW(run.net->first->weight.sum(), c10::Error);
  std::uint64_t own = 0;
  for (const StateEntry& entry : run.learner->state().entries)
    if (entry.name == "model/twice.weight")
      for (const Extent& extent : entry.extents) own += extent.length;
  EXPECT_LE(own, 37u * 37 / static_cast<std::uint64_t>(all_->size()) + block_elements);
}

TEST_F(UnitTest, AFailedLeafLeavesNothingBehind) {
  Trainee run(*all_, {Sharding::parameters, 1}), one(*alone_, {Sharding::none, 1});
  const auto fail = [](Trainee& at) {
    ShardedBatch bad = at.batch(0);
    for (Batch& shard : bad) shard.replace("y", test::values({shard.rows(), 2, 3}, 1));
    EXPECT_ANY_THROW(at.learner->update(bad));
  };
  fail(run);
  fail(one);
  run.update(0, 2);
  one.update(0, 2);
  expect_equal_runs(run, one);
}

}  // namespace
}  // namespace lockstep::learner
