// On-policy rounds: which rows, which values, the same bits whoever owns a shard and after a restore.
#include "lockstep/rollout/on_policy.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "lockstep/core/error.hpp"
#include "lockstep/core/fault.hpp"

namespace lockstep::rollout {
namespace {

using testing::HasSubstr;

std::shared_ptr<nn::ActorCritic> make_network(const std::string& environment) {
  const envs::EnvironmentSpec& spec = envs::environment_spec(environment);
  nn::ActorCriticOptions options;
  options.observation_size = spec.observation_size;
  options.discrete = spec.action.discrete;
  options.action_size = spec.action.size;
  options.hidden = {16, 16};
  auto network = std::make_shared<nn::ActorCritic>(options);
  network->initialize(3);
  return network;
}

OnPolicyOptions cart_pole() {
  OnPolicyOptions options;
  options.environment = "CartPole-v1";
  options.environments = 16;
  options.shards = options.own_shards = 4;
  options.rollout_steps = 24;
  options.epochs = 3;
  options.minibatch_rows = 96;
  options.seed = 9;
  return options;
}

OnPolicyOptions pendulum() {
  OnPolicyOptions options = cart_pole();
  options.environment = "Pendulum-v1";
  options.environments = 8;
  options.shards = options.own_shards = 2;
  options.rollout_steps = 210;  // one truncation an environment
  options.minibatch_rows = 420;
  return options;
}

// The environment's name is its test parameter's: one of either kind of action.
class OnPolicy : public testing::TestWithParam<const char*> {
 protected:
  OnPolicyOptions options() const {
    return GetParam() == std::string("CartPole-v1") ? cart_pole() : pendulum();
  }
  std::shared_ptr<nn::ActorCritic> network() const { return make_network(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Environments, OnPolicy, testing::Values("CartPole-v1", "Pendulum-v1"),
                         [](const auto& info) { return std::string(info.param).substr(0, 8); });

OnPolicyOptions owning(OnPolicyOptions options, std::int64_t first, std::int64_t count) {
  options.first_shard = first;
  options.own_shards = count;
  return options;
}

std::vector<ShardedBatch> batches_of(Round& round) {
  std::vector<ShardedBatch> batches;
  ShardedBatch batch;
  while (round.next(batch)) batches.push_back(batch);
  EXPECT_EQ(static_cast<std::int64_t>(batches.size()), round.steps());
  return batches;
}

std::vector<ShardedBatch> next_rounds(OnPolicySource& source, int rounds) {
  std::vector<ShardedBatch> all;
  for (int i = 0; i < rounds; ++i) {
    for (ShardedBatch& batch : batches_of(*source.collect())) all.push_back(std::move(batch));
  }
  return all;
}

void expect_same(const Batch& a, const Batch& b) {
  ASSERT_EQ(a.entries().size(), b.entries().size());
  for (std::size_t i = 0; i < a.entries().size(); ++i) {
    EXPECT_EQ(a.entries()[i].first, b.entries()[i].first);
    EXPECT_TRUE(at::equal(a.entries()[i].second, b.entries()[i].second)) << a.entries()[i].first;
  }
}

void expect_same(const std::vector<ShardedBatch>& a, const std::vector<ShardedBatch>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t step = 0; step < a.size(); ++step) {
    ASSERT_EQ(a[step].size(), b[step].size());
    for (std::size_t shard = 0; shard < a[step].size(); ++shard) {
      SCOPED_TRACE(testing::Message() << "step " << step << " shard " << shard);
      expect_same(a[step][shard], b[step][shard]);
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Whole tensors by name, as a checkpoint would hold them.
using Stored = std::map<std::string, std::vector<std::byte>>;

void store(OnPolicySource& source, Stored& stored) {
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

void restore(OnPolicySource& source, const Stored& stored) {
  for (const StateEntry& entry : source.state().entries) {
    const std::size_t width = size_of(entry.dtype);
    for (const Extent& extent : entry.extents) {
      std::memcpy(extent.data, stored.at(entry.name).data() + extent.offset * width, extent.length * width);
    }
  }
  source.unpack();
}

TEST_P(OnPolicy, ShardsDoNotDependOnWhoOwnsThem) {
  const auto net = network();
  const OnPolicyOptions all = options();
  OnPolicySource one(all, net);
  OnPolicySource first(owning(all, 0, 1), net);
  OnPolicySource rest(owning(all, 1, all.shards - 1), net);
  const std::vector<ShardedBatch> whole = next_rounds(one, 2);
  std::vector<ShardedBatch> parts = next_rounds(first, 2);
  const std::vector<ShardedBatch> others = next_rounds(rest, 2);
  ASSERT_EQ(parts.size(), others.size());
  for (std::size_t step = 0; step < parts.size(); ++step) {
    parts[step].insert(parts[step].end(), others[step].begin(), others[step].end());
  }
  expect_same(whole, parts);
}

TEST_P(OnPolicy, ShardsDiffer) {
  OnPolicySource source(options(), network());
  source.collect();
  EXPECT_FALSE(at::equal(source.rollout()[0].at(key::observation), source.rollout()[1].at(key::observation)));
}

TEST_P(OnPolicy, RowsFollowTheEnvironmentsInTimeOrder) {
  const auto net = network();
  const OnPolicyOptions set = options();
  OnPolicySource source(set, net);
  source.collect();
  const std::int64_t n = set.environments / set.shards, steps = set.rollout_steps;
  for (const Batch& rollout : source.rollout()) {
    ASSERT_EQ(rollout.rows(), n * steps);
    const at::Tensor done = rollout.at(key::terminated).logical_or(rollout.at(key::truncated));
    EXPECT_FALSE(rollout.at(key::terminated).logical_and(rollout.at(key::truncated)).any().item<bool>());
    const at::Tensor next = rollout.at(key::next_observation).slice(0, 0, n * (steps - 1));
    const at::Tensor following = rollout.at(key::observation).slice(0, n);
    const at::Tensor same = next.eq(following).all(1);
    // Equal but where an episode ended; there the last observation is kept and the next start follows.
    EXPECT_TRUE(at::equal(same, done.slice(0, 0, n * (steps - 1)).logical_not()));
    for (std::int64_t t = 0; t < steps; ++t) {
      const auto rows = [&](std::string_view name) {
        return rollout.at(name).slice(0, t * n, (t + 1) * n).clone();
      };
      const nn::Distribution policy = net->policy(rows(key::observation));
      EXPECT_TRUE(at::equal(nn::log_prob(policy, rows(key::action)), rows(key::log_prob)));
      EXPECT_TRUE(at::equal(net->value(rows(key::observation)), rows(key::value)));
      EXPECT_TRUE(at::equal(net->value(rows(key::next_observation)), rows(key::next_value))) << t;
      EXPECT_FALSE(rollout.at(key::value).requires_grad());
    }
  }
}

std::vector<double> numbers(const Batch& rollout, std::string_view name) {
  const at::Tensor column = rollout.at(name).to(at::kDouble);
  const double* data = column.const_data_ptr<double>();
  return {data, data + column.numel()};
}

// Written out by scalars from the definition (Schulman et al. 2016): only termination stops the bootstrap,
// either end cuts the trace, and the window's last step takes V of its own next observation.
TEST_P(OnPolicy, AdvantagesAreGae) {
  const OnPolicyOptions set = options();
  OnPolicySource source(set, network());
  source.collect();
  const std::int64_t n = set.environments / set.shards;
  bool truncation_seen = false, termination_seen = false;
  for (const Batch& rollout : source.rollout()) {
    const auto reward = numbers(rollout, key::reward), value = numbers(rollout, key::value);
    const auto next_value = numbers(rollout, key::next_value);
    const auto terminated = numbers(rollout, key::terminated), truncated = numbers(rollout, key::truncated);
    const auto given = numbers(rollout, key::advantage), target = numbers(rollout, key::value_target);
    for (std::int64_t e = 0; e < n; ++e) {
      double advantage = 0;
      for (std::int64_t t = set.rollout_steps - 1; t >= 0; --t) {
        const std::int64_t row = t * n + e;
        truncation_seen |= truncated[row] != 0;
        termination_seen |= terminated[row] != 0;
        const double bootstrap = terminated[row] != 0 ? 0.0 : set.gamma * next_value[row];
        const double delta = reward[row] + bootstrap - value[row];
        const bool done = terminated[row] != 0 || truncated[row] != 0;
        advantage = delta + (done ? 0.0 : set.gamma * set.lambda * advantage);
        const double slack = 1e-4 * (1 + std::abs(advantage));
        EXPECT_NEAR(given[row], advantage, slack) << "t " << t << " e " << e;
        EXPECT_NEAR(target[row], advantage + value[row], slack);
      }
    }
  }
  EXPECT_EQ(truncation_seen, set.environment == "Pendulum-v1");
  EXPECT_EQ(termination_seen, set.environment == "CartPole-v1");
}

TEST_P(OnPolicy, AnEpochTakesEachRowOnce) {
  const OnPolicyOptions set = options();
  OnPolicySource source(set, network());
  const std::unique_ptr<Round> round = source.collect();
  const std::int64_t rows = set.environments / set.shards * set.rollout_steps;
  const std::int64_t of_shard = set.minibatch_rows / set.shards;
  EXPECT_EQ(round->steps(), set.epochs * rows / of_shard);
  std::vector<at::Tensor> first_orders(set.shards);
  for (std::int64_t epoch = 0; epoch < set.epochs; ++epoch) {
    std::vector<std::vector<at::Tensor>> taken(set.shards);
    for (std::int64_t minibatch = 0; minibatch < rows / of_shard; ++minibatch) {
      ShardedBatch batch;
      ASSERT_TRUE(round->next(batch));
      ASSERT_EQ(static_cast<std::int64_t>(batch.size()), set.shards);
      for (std::int64_t s = 0; s < set.shards; ++s) {
        ASSERT_EQ(batch[s].rows(), of_shard);
        // The row of each is known by its observation, which no two rows share.
        const at::Tensor equal =
            batch[s].at(key::observation).unsqueeze(1).eq(source.rollout()[s].at(key::observation)).all(2);
        ASSERT_TRUE(at::equal(equal.sum(1), at::ones({of_shard}, at::kLong)));
        const at::Tensor index = equal.to(at::kByte).argmax(1);
        taken[s].push_back(index);
        for (const auto& [name, tensor] : batch[s].entries()) {
          EXPECT_TRUE(at::equal(tensor, source.rollout()[s].at(name).index_select(0, index))) << name;
        }
      }
    }
    for (std::int64_t s = 0; s < set.shards; ++s) {
      const at::Tensor order = at::cat(taken[s]);
      EXPECT_TRUE(at::equal(std::get<0>(order.sort()), at::arange(rows, at::kLong)));
      EXPECT_FALSE(at::equal(order, at::arange(rows, at::kLong)));
      if (epoch == 0) first_orders[s] = order;
      if (epoch > 0) {
        EXPECT_FALSE(at::equal(order, first_orders[s])) << "every epoch has its own order";
      }
    }
    EXPECT_FALSE(at::equal(first_orders[0], first_orders[1])) << "every shard has its own order";
  }
  ShardedBatch batch;
  EXPECT_FALSE(round->next(batch));
  EXPECT_TRUE(batch.empty());
}

TEST_P(OnPolicy, MinibatchesHoldWhatTheLossReads) {
  OnPolicySource source(options(), network());
  ShardedBatch batch;
  ASSERT_TRUE(source.collect()->next(batch));
  for (const auto name :
       {key::observation, key::action, key::log_prob, key::value, key::advantage, key::value_target}) {
    EXPECT_TRUE(batch[0].has(name)) << name;
  }
}

TEST_P(OnPolicy, AStoredSourceGoesOnWithTheSameBitsUnderOtherOwners) {
  const auto net = network();
  const OnPolicyOptions all = options();
  OnPolicySource source(all, net);
  next_rounds(source, 2);
  Stored stored;
  store(source, stored);
  const std::vector<ShardedBatch> expected = next_rounds(source, 2);

  OnPolicySource again(all, net);
  restore(again, stored);
  expect_same(next_rounds(again, 2), expected);

  OnPolicySource first(owning(all, 0, 1), net), rest(owning(all, 1, all.shards - 1), net);
  restore(first, stored);
  restore(rest, stored);
  std::vector<ShardedBatch> parts = next_rounds(first, 2);
  const std::vector<ShardedBatch> others = next_rounds(rest, 2);
  for (std::size_t step = 0; step < parts.size(); ++step) {
    parts[step].insert(parts[step].end(), others[step].begin(), others[step].end());
  }
  expect_same(parts, expected);

  // Parts stored by several owners are the whole.
  Stored whole, pieces;
  store(source, whole);
  store(first, pieces);
  Stored last;
  store(rest, last);
  for (auto& [name, bytes] : pieces) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (name != "training/environment/rounds") bytes[i] |= last.at(name)[i];
    }
  }
  EXPECT_EQ(pieces, whole);
}

TEST_P(OnPolicy, ARoundLeftEarlyChangesNothingLater) {
  const auto net = network();
  OnPolicySource patient(options(), net), hasty(options(), net);
  batches_of(*patient.collect());
  ShardedBatch batch;
  hasty.collect()->next(batch);
  expect_same(next_rounds(hasty, 1), next_rounds(patient, 1));
}

TEST(OnPolicyStatistics, CountEpisodesAndTheirReturns) {
  const OnPolicyOptions set = cart_pole();
  OnPolicySource source(set, make_network("CartPole-v1"));
  const std::int64_t n = set.environments / set.shards;
  std::vector<double> running(set.environments, 0.0);
  for (int round = 0; round < 3; ++round) {
    const std::unique_ptr<Round> collected = source.collect();
    double returns = 0, episodes = 0;
    for (std::int64_t s = 0; s < set.shards; ++s) {
      const Batch& rollout = source.rollout()[s];
      const auto reward = numbers(rollout, key::reward), terminated = numbers(rollout, key::terminated);
      for (std::int64_t row = 0; row < rollout.rows(); ++row) {
        double& sum = running[s * n + row % n];
        sum += reward[row];
        if (terminated[row] == 0) continue;
        returns += sum;
        ++episodes;
        sum = 0;
      }
    }
    EXPECT_GT(episodes, 0);
    EXPECT_EQ(collected->statistics().environment_steps, set.environments * set.rollout_steps);
    EXPECT_EQ(collected->statistics().return_sum.value(), returns);
    EXPECT_EQ(collected->statistics().episodes.value(), episodes);
    EXPECT_GT(collected->statistics().seconds, 0);
  }
}

TEST(OnPolicyState, NamesAndShapesAreOfAllShards) {
  OnPolicySource source(owning(cart_pole(), 1, 2), make_network("CartPole-v1"));
  source.collect();
  source.pack();
  const StateView view = source.state();
  const auto shape = [&](const std::string& name) {
    return view.find("training/environment/" + name)->shape;
  };
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(shape("state"), (Shape{16, 4}));
  EXPECT_EQ(shape("elapsed"), Shape{16});
  EXPECT_EQ(shape("draw"), Shape{4});
  EXPECT_EQ(shape("action_draw"), Shape{4});
  EXPECT_EQ(shape("minibatch_draw"), Shape{4});
  EXPECT_EQ(shape("rounds"), Shape{});
  const StateEntry* draws = view.find("training/environment/action_draw");
  ASSERT_EQ(draws->extents.size(), 2u);
  EXPECT_EQ(draws->extents[0].offset, 1u);
  EXPECT_EQ(draws->extents[1].offset, 2u);
  // One draw a row of a categorical sample.
  EXPECT_EQ(*reinterpret_cast<std::int64_t*>(draws->extents[0].data), 4 * 24);
  EXPECT_EQ(*reinterpret_cast<std::int64_t*>(view.find("training/environment/rounds")->extents[0].data), 1);
}

void expect_refused(OnPolicyOptions options, const std::string& first, const std::string& second) {
  EXPECT_THAT([&] { OnPolicySource(options, make_network("CartPole-v1")); },
              testing::ThrowsMessage<ContractError>(testing::AllOf(HasSubstr(first), HasSubstr(second))));
}

TEST(OnPolicyOptions, SizesThatDoNotDivideAreRefusedWithBothNumbers) {
  OnPolicyOptions options = cart_pole();
  options.environments = 18;
  expect_refused(options, "environments = 18", "shards = 4");
  options = cart_pole();
  options.minibatch_rows = 90;
  expect_refused(options, "minibatch rows = 90", "shards = 4");
  options.minibatch_rows = 100;
  expect_refused(options, "rollout steps = 384", "minibatch rows = 100");
  options.minibatch_rows = 0;
  expect_refused(options, "minibatch rows = 0", "at least 1");
  options = owning(cart_pole(), 3, 2);
  expect_refused(options, "own shards 3 to 4", "[0, 4)");
}

TEST(OnPolicyOptions, ANetworkOfAnotherEnvironmentIsRefused) {
  OnPolicyOptions options = cart_pole();
  options.environment = "Acrobot-v1";
  expect_refused(options, "observations of 4 numbers", "Acrobot-v1 gives 6");
  options.environment = "NoSuch-v1";
  EXPECT_THROW(OnPolicySource(options, make_network("CartPole-v1")), InputError);
}

// Sets LOCKSTEP_FAULT for one test.
class Injected {
 public:
  explicit Injected(const char* fault) {
    setenv("LOCKSTEP_FAULT", fault, 1);
    fault::configure(0);
  }
  ~Injected() {
    unsetenv("LOCKSTEP_FAULT");
    fault::configure(0);
  }
};

TEST(OnPolicyFaults, CollectIsASite) {
  if (fault::sites().empty()) GTEST_SKIP() << "built without fault sites";
  OnPolicySource source(cart_pole(), make_network("CartPole-v1"));
  {
    const Injected injected("collect:0:1:throw");
    source.collect();
    EXPECT_THROW(source.collect(), Error);
  }
  {
    const Injected injected("collect:0:1:nan");
    source.collect();
    EXPECT_TRUE(source.rollout()[0].at(key::advantage).isnan().any().item<bool>());
  }
  source.collect();
  EXPECT_FALSE(source.rollout()[0].at(key::advantage).isnan().any().item<bool>());
}

}  // namespace
}  // namespace lockstep::rollout
