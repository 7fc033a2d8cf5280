// The replay ring holds exactly what was put in, draws what its stream says, and comes back bit for bit.
#include "lockstep/rollout/replay_buffer.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

#include "lockstep/core/error.hpp"

namespace lockstep::rollout {
namespace {

const envs::EnvironmentSpec& cart_pole() {
  return envs::environment_spec("CartPole-v1");
}

// Row `number` holds its number in every column.
struct Rows {
  at::Tensor observation, action;
  envs::VectorStep step;
};
Rows rows_from(std::int64_t first, std::int64_t count) {
  const at::Tensor numbers = at::arange(first, first + count, at::kFloat);
  const at::Tensor wide = numbers.unsqueeze(1).expand({count, 4}).contiguous();
  Rows rows{wide, numbers.to(at::kLong), {}};
  rows.step.reward = numbers + 0.5;
  rows.step.terminated = numbers.remainder(2) == 1;
  rows.step.truncated = at::zeros({count}, at::kBool);
  rows.step.next_observation = wide + 0.25;
  return rows;
}

void add(ReplayBuffer& buffer, std::int64_t first, std::int64_t count) {
  const Rows rows = rows_from(first, count);
  buffer.add(rows.observation, rows.action, rows.step);
}

// The numbers of all rows held, in their places; every column is checked to agree.
std::vector<std::int64_t> numbers_held(const ReplayBuffer& buffer) {
  const Batch all = buffer.rows_at(at::arange(buffer.rows(), at::kLong));
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < buffer.rows(); ++i) {
    const auto number = all.at(key::action)[i].item<std::int64_t>();
    const auto expected = rows_from(number, 1);
    EXPECT_TRUE(all.at(key::observation)[i].equal(expected.observation[0]));
    EXPECT_TRUE(all.at(key::next_observation)[i].equal(expected.step.next_observation[0]));
    EXPECT_EQ(all.at(key::reward)[i].item<float>(), number + 0.5F);
    EXPECT_EQ(all.at(key::terminated)[i].item<bool>(), number % 2 == 1);
    numbers.push_back(number);
  }
  return numbers;
}

using Numbers = std::vector<std::int64_t>;

TEST(ReplayBuffer, HoldsTheRowsInOrder) {
  ReplayBuffer buffer(cart_pole(), 7, 0);
  EXPECT_EQ(buffer.rows(), 0);
  add(buffer, 0, 3);
  EXPECT_EQ(numbers_held(buffer), (Numbers{0, 1, 2}));
  add(buffer, 3, 3);
  EXPECT_EQ(numbers_held(buffer), (Numbers{0, 1, 2, 3, 4, 5}));
}

TEST(ReplayBuffer, TheNewestRowsTakeThePlacesOfTheOldest) {
  ReplayBuffer buffer(cart_pole(), 7, 0);
  for (std::int64_t first = 0; first < 9; first += 3) add(buffer, first, 3);
  EXPECT_EQ(buffer.rows(), 7);
  EXPECT_EQ(numbers_held(buffer), (Numbers{7, 8, 2, 3, 4, 5, 6}));
  for (std::int64_t first = 9; first < 30; first += 3) add(buffer, first, 3);
  EXPECT_EQ(numbers_held(buffer), (Numbers{28, 29, 23, 24, 25, 26, 27}));
}

TEST(ReplayBuffer, DrawsWhatTheStreamSaysFromTheRowsHeld) {
  ReplayBuffer buffer(cart_pole(), 100, 0);
  add(buffer, 0, 10);
  RandomStream stream(4, StreamId::replay, 2), same(4, StreamId::replay, 2);
  const at::Tensor index = buffer.draw(64, stream);
  EXPECT_EQ(stream.draw(), 64u);
  for (std::int64_t i = 0; i < 64; ++i)
    EXPECT_EQ(index[i].item<std::int64_t>(), static_cast<std::int64_t>(same.below(10)));
}

TEST(ReplayBuffer, WhatDoesNotFitIsRefused) {
  EXPECT_THROW(ReplayBuffer(cart_pole(), 0, 0), ContractError);
  EXPECT_THROW(ReplayBuffer(cart_pole(), 8, 1.5), ContractError);
  ReplayBuffer buffer(cart_pole(), 8, 0);
  RandomStream stream(0, StreamId::replay, 0);
  EXPECT_THROW(buffer.draw(1, stream), ContractError);
  Rows rows = rows_from(0, 2);
  EXPECT_THROW(buffer.add(rows.observation, rows.action.to(at::kFloat), rows.step), ContractError);
  EXPECT_THROW(buffer.add(rows.observation.narrow(0, 0, 1), rows.action, rows.step), ContractError);
  EXPECT_EQ(buffer.rows(), 0);
  EXPECT_THROW(buffer.smallest_share(), ContractError);
}

// (p + 1e-8)^alpha of each row decides; new rows get the largest priority so far.
TEST(PrioritizedReplay, DrawsAndWeighsByPriority) {
  constexpr double alpha = 0.6, beta = 0.4;
  ReplayBuffer buffer(cart_pole(), 4, alpha);
  add(buffer, 0, 3);
  buffer.set_priorities(at::arange(3, at::kLong), at::tensor({4.0F, 0.5F, 2.0F}));
  add(buffer, 3, 1);
  std::vector<double> leaf;
  for (const double priority : {4.0, 0.5, 2.0, 4.0}) leaf.push_back(std::pow(priority + 1e-8, alpha));
  const double sum = std::accumulate(leaf.begin(), leaf.end(), 0.0);
  EXPECT_NEAR(buffer.smallest_share(), leaf[1] / sum, 1e-6);

  const at::Tensor index = at::arange(4, at::kLong);
  const at::Tensor weights = buffer.weights(index, beta, buffer.smallest_share());
  for (std::int64_t i = 0; i < 4; ++i)
    EXPECT_NEAR(weights[i].item<float>(), std::pow(leaf[i] / leaf[1], -beta), 1e-6);
  // Half the smallest share, of a shard elsewhere, makes every weight 2^-beta of that.
  const at::Tensor lower = buffer.weights(index, beta, buffer.smallest_share() / 2);
  EXPECT_NEAR(lower[1].item<float>(), std::pow(2.0, -beta), 1e-6);

  RandomStream stream(1, StreamId::replay, 0), same(1, StreamId::replay, 0);
  const at::Tensor drawn = buffer.draw(500, stream);
  EXPECT_EQ(stream.draw(), 500u);
  for (std::int64_t i = 0; i < 500; ++i) {
    const double mass = same.uniform() * sum;
    std::int64_t row = 0;
    for (double prefix = leaf[0]; prefix < mass; prefix += leaf[++row]) {
    }
    EXPECT_EQ(drawn[i].item<std::int64_t>(), row) << i;
  }
}

TEST(PrioritizedReplay, AnOverwrittenRowStartsAnewAndTheLastOfTwoPrioritiesHolds) {
  ReplayBuffer buffer(cart_pole(), 2, 1.0);
  add(buffer, 0, 2);
  buffer.set_priorities(at::tensor({0, 1, 1}, at::kLong), at::tensor({3.0F, 8.0F, 1.0F}));
  EXPECT_NEAR(buffer.smallest_share(), 1.0 / 4.0, 1e-6);
  add(buffer, 2, 1);  // in row 0's place, with the largest priority ever given
  EXPECT_NEAR(buffer.smallest_share(), 1.0 / 9.0, 1e-6);
  EXPECT_THROW(buffer.set_priorities(at::tensor({0}, at::kLong), at::tensor({NAN})), NumericError);
}

using Bytes = std::map<std::string, std::vector<std::byte>>;

Bytes copied(StateView view) {
  Bytes bytes;
  for (const StateEntry& entry : view.entries) {
    EXPECT_EQ(entry.extents.size(), 1u) << entry.name;
    const Extent& extent = entry.extents.front();
    bytes[entry.name].assign(extent.data, extent.data + extent.length * size_of(entry.dtype));
  }
  return bytes;
}

void restore(ReplayBuffer& buffer, const Bytes& bytes) {
  for (const StateEntry& entry : buffer.state("r/", 0, 1).entries)
    std::memcpy(entry.extents.front().data, bytes.at(entry.name).data(), bytes.at(entry.name).size());
  buffer.unpack();
}

class ReplayState : public testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(Alpha, ReplayState, testing::Values(0.0, 0.6));

TEST_P(ReplayState, GoesOnBitForBit) {
  ReplayBuffer original(cart_pole(), 6, GetParam());
  add(original, 0, 8);
  if (GetParam() > 0) original.set_priorities(at::tensor({1, 4}, at::kLong), at::tensor({0.3F, 5.0F}));
  original.pack();
  const Bytes saved = copied(original.state("r/", 0, 1));
  ReplayBuffer restored(cart_pole(), 6, GetParam());
  restore(restored, saved);

  const auto go_on = [](ReplayBuffer& buffer) {
    add(buffer, 8, 3);
    RandomStream stream(9, StreamId::replay, 1);
    const at::Tensor index = buffer.draw(40, stream);
    if (buffer.prioritized()) buffer.set_priorities(index, at::arange(40, at::kFloat));
    buffer.pack();
    Bytes bytes = copied(buffer.state("r/", 0, 1));
    const auto* drawn = reinterpret_cast<const std::byte*>(index.const_data_ptr<std::int64_t>());
    bytes["drawn"].assign(drawn, drawn + index.nbytes());
    return bytes;
  };
  EXPECT_EQ(go_on(original), go_on(restored));
  EXPECT_EQ(numbers_held(restored), (Numbers{6, 7, 8, 9, 10, 5}));
}

TEST(ReplayState, AShardHoldsItsPartOfEveryEntry) {
  ReplayBuffer buffer(cart_pole(), 5, 0.6);
  const StateView view = buffer.state("training/replay/", 1, 3);
  const StateEntry* observation = view.find("training/replay/observation");
  ASSERT_NE(observation, nullptr);
  EXPECT_EQ(observation->shape, (std::vector<std::int64_t>{15, 4}));
  EXPECT_EQ(observation->extents.front().offset, 20u);
  EXPECT_EQ(observation->extents.front().length, 20u);
  for (const char* name : {"action", "reward", "terminated", "priority"})
    EXPECT_EQ(view.find(std::string("training/replay/") + name)->extents.front().offset, 5u) << name;
  for (const char* name : {"written", "largest_priority"})
    EXPECT_EQ(view.find(std::string("training/replay/") + name)->shape, (std::vector<std::int64_t>{3}))
        << name;
}

// What an estimate counts is what the state holds.
TEST(ReplayState, RowBytes) {
  for (const char* name : {"CartPole-v1", "Pendulum-v1"}) {
    for (const double alpha : {0.0, 0.5}) {
      std::uint64_t bytes = 0;
      ReplayBuffer buffer(envs::environment_spec(name), 10, alpha);
      for (const StateEntry& entry : buffer.state("", 0, 1).entries)
        if (entry.shape.front() == 10) bytes += entry.elements() * size_of(entry.dtype);
      EXPECT_EQ(bytes, 10u * replay_row_bytes(envs::environment_spec(name), alpha)) << name;
    }
  }
}

}  // namespace
}  // namespace lockstep::rollout
