// Off-policy rounds: the rows are the environments' own transitions, and batches are the same bits whoever
// owns a shard and after a restore.
#include "lockstep/rollout/off_policy.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "lockstep/core/error.hpp"
#include "lockstep/learner/optimization_stepper.hpp"

namespace lockstep::rollout {
namespace {

std::unique_ptr<comm::Collectives> world() {
  return comm::make_collectives(comm::Communicator::world(), "mpi", 60);
}
// This rank alone.
std::unique_ptr<comm::Collectives> alone() {
  const auto all = comm::Communicator::world();
  return comm::make_collectives(all.split(all.rank(), 0), "mpi", 60);
}

OffPolicyOptions options_for(const std::string& environment, double alpha = 0) {
  return {.environment = environment,
          .environments = 8,
          .shards = 4,
          .first_shard = 0,
          .own_shards = 4,
          .rollout_steps = 6,
          .updates = 3,
          .batch_rows = 32,
          .capacity = 400,
          .initial_steps = 96,
          .alpha = alpha,
          .beta = 0.5,
          .seed = 11};
}

OffPolicyOptions owning(OffPolicyOptions options, std::int64_t first, std::int64_t count) {
  options.first_shard = first;
  options.own_shards = count;
  return options;
}

// Any policy will do: this one depends on the observation, the stream and the steps taken.
Exploration exploration(const std::string& environment) {
  const envs::ActionSpace& space = envs::environment_spec(environment).action;
  return [&space](const at::Tensor& observation, RandomStream& stream, std::int64_t taken) {
    const std::int64_t n = observation.size(0);
    const at::Tensor action = at::empty({n}, at::kFloat);
    for (std::int64_t i = 0; i < n; ++i)
      action[i] = observation[i][0].item<double>() + 0.001 * static_cast<double>(taken) + stream.normal();
    if (space.discrete) return action.gt(0).to(at::kLong);
    return action.clamp(space.low[0], space.high[0]).unsqueeze(1);
  };
}

// The error that a loss might give: some number of each row.
learner::StepResult step_of(const ShardedBatch& batch, bool stepped = true) {
  learner::StepResult result;
  result.stepped = stepped;
  for (const Batch& shard : batch)
    result.rows.push_back({{"row_td_error", shard.at(key::observation).square().sum(1)}});
  return result;
}

std::vector<ShardedBatch> batches_of(OffPolicySource& source, int rounds) {
  std::vector<ShardedBatch> batches;
  for (int i = 0; i < rounds; ++i) {
    const std::unique_ptr<Round> round = source.collect();
    ShardedBatch batch;
    for (std::int64_t step = 0; round->next(batch); ++step) {
      EXPECT_LT(step, round->steps());
      batches.push_back(batch);
      round->feedback(step_of(batch));
    }
  }
  return batches;
}

void expect_same(const Batch& a, const Batch& b) {
  ASSERT_EQ(a.entries().size(), b.entries().size());
  for (std::size_t i = 0; i < a.entries().size(); ++i) {
    EXPECT_EQ(a.entries()[i].first, b.entries()[i].first);
    EXPECT_TRUE(at::equal(a.entries()[i].second, b.entries()[i].second)) << a.entries()[i].first;
  }
}

struct Case {
  const char* environment;
  double alpha;
};

class OffPolicy : public testing::TestWithParam<Case> {
 protected:
  OffPolicyOptions options() const { return options_for(GetParam().environment, GetParam().alpha); }
  Exploration explore() const { return exploration(GetParam().environment); }
};
INSTANTIATE_TEST_SUITE_P(Cases, OffPolicy,
                         testing::Values(Case{"CartPole-v1", 0}, Case{"CartPole-v1", 0.6},
                                         Case{"Pendulum-v1", 0}, Case{"Pendulum-v1", 0.6}),
                         [](const auto& info) {
                           return std::string(info.param.environment).substr(0, 8) +
                                  (info.param.alpha > 0 ? "Prioritized" : "Uniform");
                         });

TEST_P(OffPolicy, NoBatchBeforeTheInitialSteps) {
  const auto one = alone();
  OffPolicySource source(options(), explore(), *one);
  ShardedBatch batch;
  const std::unique_ptr<Round> first = source.collect();  // 48 of 96 steps
  EXPECT_EQ(first->steps(), 0);
  EXPECT_FALSE(first->next(batch));
  EXPECT_EQ(first->statistics().environment_steps, 48);
  const std::unique_ptr<Round> second = source.collect();
  EXPECT_EQ(second->steps(), 3);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(second->next(batch));
    ASSERT_EQ(batch.size(), 4u);
    for (const Batch& shard : batch) {
      EXPECT_EQ(shard.rows(), 8);
      EXPECT_EQ(shard.has(key::weight), GetParam().alpha > 0);
      for (const auto name :
           {key::observation, key::action, key::reward, key::next_observation, key::terminated})
        EXPECT_TRUE(shard.has(name)) << name;
    }
  }
  EXPECT_FALSE(second->next(batch));
}

// Twin environments that are given the same actions go the same way: through terminations (CartPole), the
// time limit (Pendulum, step 200) and the resets after them.
TEST_P(OffPolicy, RowsAreTheTransitionsOfTheEnvironments) {
  const auto one = alone();
  OffPolicyOptions set = options();
  set.rollout_steps = 205;
  set.capacity = 8 * 205;
  OffPolicySource source(set, explore(), *one);
  source.collect();
  bool terminated = false, truncated = false;
  for (std::int64_t shard = 0; shard < set.shards; ++shard) {
    const ReplayBuffer& buffer = source.replay(shard);
    const Batch rows = buffer.rows_at(at::arange(buffer.rows(), at::kLong));
    envs::VectorEnvironment twins(set.environment, 2, set.seed, static_cast<std::uint32_t>(shard));
    RandomStream actions(set.seed, StreamId::action, static_cast<std::uint32_t>(shard));
    for (std::int64_t t = 0; t < set.rollout_steps; ++t) {
      const Batch now = rows.slice(2 * t, 2 * t + 2);
      ASSERT_TRUE(at::equal(now.at(key::observation), twins.observation()));
      for (std::int64_t e = 0; e < 2 && 8 * t < set.initial_steps; ++e) {
        const auto& space = twins.spec().action;
        const double expected = space.discrete ? static_cast<double>(actions.below(space.size))
                                               : static_cast<float>(actions.uniform(-2, 2));
        EXPECT_EQ(now.at(key::action)[e].item<double>(), expected) << t;
      }
      const envs::VectorStep& step = twins.step(now.at(key::action).contiguous());
      EXPECT_TRUE(at::equal(now.at(key::reward), step.reward));
      EXPECT_TRUE(at::equal(now.at(key::terminated), step.terminated));
      EXPECT_TRUE(at::equal(now.at(key::next_observation), step.next_observation));
      terminated |= step.terminated.any().item<bool>();
      truncated |= step.truncated.any().item<bool>();
    }
  }
  EXPECT_EQ(terminated, set.environment == "CartPole-v1");
  EXPECT_EQ(truncated, set.environment == "Pendulum-v1");
}

// Whether a rank owns neighbouring shards or every size-th.
TEST_P(OffPolicy, BatchesDoNotDependOnTheRanks) {
  const auto all = world(), one = alone();
  OffPolicySource whole(options(), explore(), *one);
  const std::vector<ShardedBatch> expected = batches_of(whole, 12);
  ASSERT_EQ(expected.size(), 33u);
  for (const bool neighbours : {true, false}) {
    const std::int64_t own = 4 / all->size(), stride = neighbours ? 1 : all->size();
    const std::int64_t first = neighbours ? own * all->rank() : all->rank();
    OffPolicyOptions set = owning(options(), first, own);
    set.shard_stride = stride;
    OffPolicySource part(set, explore(), *all);
    const std::vector<ShardedBatch> given = batches_of(part, 12);
    ASSERT_EQ(given.size(), expected.size());
    for (std::size_t step = 0; step < given.size(); ++step) {
      ASSERT_EQ(static_cast<std::int64_t>(given[step].size()), own);
      for (std::int64_t i = 0; i < own; ++i)
        expect_same(given[step][i], expected[step][static_cast<std::size_t>(first + i * stride)]);
    }
  }
}

// Whole tensors by name, as a checkpoint would hold them.
using Stored = std::map<std::string, std::vector<std::byte>>;

void store(OffPolicySource& source, Stored& stored) {
  source.pack();
  for (const StateEntry& entry : source.state().entries) {
    std::vector<std::byte>& bytes = stored[entry.name];
    bytes.resize(entry.elements() * size_of(entry.dtype));
    for (const Extent& extent : entry.extents) {
      const std::size_t width = size_of(entry.dtype);
      std::memcpy(bytes.data() + extent.offset * width, extent.data, extent.length * width);
    }
  }
}

void restore(OffPolicySource& source, const Stored& stored) {
  for (const StateEntry& entry : source.state().entries) {
    const std::size_t width = size_of(entry.dtype);
    for (const Extent& extent : entry.extents)
      std::memcpy(extent.data, stored.at(entry.name).data() + extent.offset * width, extent.length * width);
  }
  source.unpack();
}

// Stored while the rings are being overwritten, and before the initial steps are done.
TEST_P(OffPolicy, AStoredSourceGoesOnWithTheSameBitsUnderOtherOwners) {
  const auto all = world(), one = alone();
  const std::int64_t own = 4 / all->size(), first = own * all->rank();
  for (const int rounds : {1, 11}) {
    OffPolicySource source(options(), explore(), *one);
    batches_of(source, rounds);
    Stored stored;
    store(source, stored);
    const std::vector<ShardedBatch> expected = batches_of(source, 3);
    OffPolicySource part(owning(options(), first, own), explore(), *all);
    restore(part, stored);
    const std::vector<ShardedBatch> given = batches_of(part, 3);
    ASSERT_EQ(given.size(), expected.size());
    for (std::size_t step = 0; step < given.size(); ++step)
      for (std::int64_t i = 0; i < own; ++i) expect_same(given[step][i], expected[step][first + i]);
    Stored at_the_end, of_part;
    store(source, at_the_end);
    store(part, of_part);
    for (const StateEntry& entry : part.state().entries)
      for (const Extent& extent : entry.extents) {
        const std::size_t width = size_of(entry.dtype);
        EXPECT_EQ(std::memcmp(extent.data, at_the_end.at(entry.name).data() + extent.offset * width,
                              extent.length * width),
                  0)
            << entry.name;
      }
  }
}

// By hand: shares of the shard's sum against the least share of all shards.
TEST(OffPolicyPriorities, WeighRowsAgainstTheLeastShareOfAllShards) {
  const auto one = alone();
  const OffPolicyOptions set = options_for("Pendulum-v1", 0.6);
  OffPolicySource source(set, exploration("Pendulum-v1"), *one);
  batches_of(source, 4);
  ShardedBatch batch;
  const std::unique_ptr<Round> round = source.collect();
  double least = 1;
  for (std::int64_t shard = 0; shard < 4; ++shard)
    least = std::min(least, source.replay(shard).smallest_share());
  ASSERT_TRUE(round->next(batch));
  for (std::int64_t shard = 0; shard < 4; ++shard) {
    const ReplayBuffer& buffer = source.replay(shard);
    const Batch all = buffer.rows_at(at::arange(buffer.rows(), at::kLong));
    // The row of each is known by its observation, which no two rows share.
    const at::Tensor equal =
        batch[shard].at(key::observation).unsqueeze(1).eq(all.at(key::observation)).all(2);
    ASSERT_TRUE(at::equal(equal.sum(1), at::ones({batch[shard].rows()}, at::kLong)));
    const at::Tensor index = equal.to(at::kByte).argmax(1);
    EXPECT_TRUE(at::equal(batch[shard].at(key::weight), buffer.weights(index, set.beta, least)));
  }
}

TEST(OffPolicyPriorities, OnlyARealStepSetsThem) {
  const auto one = alone();
  OffPolicySource source(options_for("CartPole-v1", 1.0), exploration("CartPole-v1"), *one);
  source.collect();
  const std::unique_ptr<Round> round = source.collect();
  ShardedBatch batch;
  ASSERT_TRUE(round->next(batch));
  const double before = source.replay(0).smallest_share();
  EXPECT_NEAR(before, 1.0 / 24, 1e-6);  // all alike
  round->feedback(step_of(batch, /*stepped=*/false));
  EXPECT_EQ(source.replay(0).smallest_share(), before);
  round->feedback(step_of(batch));
  EXPECT_NE(source.replay(0).smallest_share(), before);
}

TEST(OffPolicyContract, SizesThatDoNotFitAreRefused) {
  const auto one = alone();
  const auto refused = [&](auto change) {
    OffPolicyOptions options = options_for("CartPole-v1");
    change(options);
    EXPECT_THROW(OffPolicySource(options, exploration("CartPole-v1"), *one), ContractError);
  };
  refused([](OffPolicyOptions& o) { o.environments = 6; });
  refused([](OffPolicyOptions& o) { o.batch_rows = 30; });
  refused([](OffPolicyOptions& o) { o.capacity = 402; });
  refused([](OffPolicyOptions& o) { o.updates = 0; });
  refused([](OffPolicyOptions& o) { o.own_shards = 5; });
  refused([](OffPolicyOptions& o) { o.initial_steps = -1; });
}

}  // namespace
}  // namespace lockstep::rollout
