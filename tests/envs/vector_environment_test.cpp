// Same-step resets, truncation, returns, and exact save and restore of a shard's environments.
#include "lockstep/envs/vector_environment.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "lockstep/core/error.hpp"

namespace lockstep::envs {
namespace {

constexpr std::uint64_t seed = 5;

at::Tensor constant_actions(const VectorEnvironment& environment, std::int64_t action) {
  return at::full({environment.count()}, action, at::kLong);
}

at::Tensor random_actions(const VectorEnvironment& environment, RandomStream& stream) {
  const ActionSpace& space = environment.spec().action;
  const auto n = environment.count();
  at::Tensor action = space.discrete ? at::empty({n}, at::kLong) : at::empty({n, space.size}, at::kFloat);
  for (std::int64_t i = 0; i < action.numel(); ++i) {
    if (space.discrete) {
      action.mutable_data_ptr<std::int64_t>()[i] = static_cast<std::int64_t>(stream.below(space.size));
    } else {
      action.mutable_data_ptr<float>()[i] = static_cast<float>(stream.uniform(-2, 2));
    }
  }
  return action;
}

TEST(VectorEnvironment, StartsFromTheShardsStreamInOrder) {
  const VectorEnvironment vector("CartPole-v1", 3, seed, 2);
  RandomStream stream(seed, StreamId::environment_reset, 2);
  const auto environment = make_environment("CartPole-v1");
  for (std::int64_t i = 0; i < 3; ++i) {
    environment->reset(stream);
    at::Tensor expected = at::empty({4});
    environment->observe({expected.mutable_data_ptr<float>(), 4});
    EXPECT_TRUE(at::equal(vector.observation()[i], expected)) << i;
  }
}

// Pushing one way only, the pole falls within a dozen steps.
TEST(VectorEnvironment, ResetsInTheSameStepAndKeepsTheLastObservation) {
  VectorEnvironment vector("CartPole-v1", 2, seed, 0);
  RandomStream stream(seed, StreamId::environment_reset, 0, 8);  // two starts of four draws are behind it
  const auto fresh = make_environment("CartPole-v1");
  std::int64_t steps = 0, ended = 0;
  std::vector<std::int64_t> lengths(2, 0);
  while (ended < 10) {
    const VectorStep& step = vector.step(constant_actions(vector, 1));
    ++steps;
    std::size_t returns = 0;
    for (std::int64_t i = 0; i < 2; ++i) {
      ++lengths[i];
      const bool done = step.terminated[i].item<bool>();
      EXPECT_FALSE(step.truncated[i].item<bool>());
      EXPECT_EQ(step.reward[i].item<float>(), 1.0f);
      if (!done) {
        EXPECT_TRUE(at::equal(step.next_observation[i], vector.observation()[i]));
        continue;
      }
      // The last observation is beyond the limit; the current one is the next start of the shard's stream.
      EXPECT_GT(std::abs(step.next_observation[i][2].item<float>()), 0.2f);
      fresh->reset(stream);
      at::Tensor start = at::empty({4});
      fresh->observe({start.mutable_data_ptr<float>(), 4});
      EXPECT_TRUE(at::equal(vector.observation()[i], start));
      ASSERT_LT(returns, step.returns.size());
      EXPECT_EQ(step.returns[returns++], static_cast<double>(lengths[i]));
      lengths[i] = 0;
      ++ended;
    }
    EXPECT_EQ(step.returns.size(), returns);
    EXPECT_EQ(step.any_done, returns > 0);
    ASSERT_LT(steps, 200);
  }
}

TEST(VectorEnvironment, TheTimeLimitTruncates) {
  VectorEnvironment vector("Pendulum-v1", 3, seed, 0);
  const at::Tensor action = at::zeros({3, 1});
  for (int episode = 0; episode < 2; ++episode) {
    double sum = 0;
    for (int t = 1; t <= 200; ++t) {
      const VectorStep& step = vector.step(action);
      EXPECT_FALSE(step.terminated.any().item<bool>());
      EXPECT_EQ(step.truncated.all().item<bool>(), t == 200) << t;
      EXPECT_EQ(step.truncated.any().item<bool>(), t == 200) << t;
      EXPECT_EQ(step.any_done, t == 200);
      sum += step.reward[0].item<float>();
      if (t < 200) continue;
      ASSERT_EQ(step.returns.size(), 3u);
      EXPECT_NEAR(step.returns[0], sum, 1e-4 * std::abs(sum));
      EXPECT_FALSE(at::equal(step.next_observation, vector.observation()));
    }
  }
}

// A failure in the very step that reaches the limit is a termination. Found by loading elapsed = limit - 1
// beside a state about to fall.
TEST(VectorEnvironment, TerminationAtTheLimitIsNoTruncation) {
  VectorEnvironment vector("CartPole-v1", 2, seed, 0);
  vector.pack();
  const StateView view = vector.state("", 0, 1);
  auto* elapsed = reinterpret_cast<std::int64_t*>(view.find("elapsed")->extents[0].data);
  auto* states = reinterpret_cast<double*>(view.find("state")->extents[0].data);
  elapsed[0] = elapsed[1] = 499;
  states[2] = 0.2094;  // just inside 12 degrees, falling
  states[3] = 1.0;
  vector.unpack();
  const VectorStep& step = vector.step(constant_actions(vector, 0));
  EXPECT_TRUE(step.terminated[0].item<bool>());
  EXPECT_FALSE(step.truncated[0].item<bool>());
  EXPECT_FALSE(step.terminated[1].item<bool>());
  EXPECT_TRUE(step.truncated[1].item<bool>());
}

struct Snapshot {
  explicit Snapshot(const StateView& view) {
    for (const StateEntry& entry : view.entries) {
      for (const Extent& extent : entry.extents) {
        bytes.emplace_back(extent.data, extent.data + extent.length * size_of(entry.dtype));
      }
    }
  }
  void write_to(const StateView& view) const {
    std::size_t i = 0;
    for (const StateEntry& entry : view.entries) {
      for (const Extent& extent : entry.extents)
        std::memcpy(extent.data, bytes[i].data(), bytes[i].size()), ++i;
    }
  }
  std::vector<std::vector<std::byte>> bytes;
};

std::vector<at::Tensor> run(VectorEnvironment& vector, int steps) {
  RandomStream actions(3, StreamId::test, 0);
  std::vector<at::Tensor> seen{vector.observation().clone()};
  for (int t = 0; t < steps; ++t) {
    const VectorStep& step = vector.step(random_actions(vector, actions));
    for (const at::Tensor* tensor :
         {&step.reward, &step.terminated, &step.truncated, &step.next_observation, &vector.observation()}) {
      seen.push_back(tensor->clone());
    }
    seen.push_back(at::tensor(step.returns, at::kDouble));
  }
  return seen;
}

TEST(VectorEnvironment, RestoresTheSameBitsIntoAnyInstance) {
  for (const std::string& name : environment_names()) {
    VectorEnvironment vector(name, 4, seed, 1);
    run(vector, 33);
    vector.pack();
    const Snapshot saved(vector.state("training/environment/", 1, 2));
    const std::vector<at::Tensor> expected = run(vector, 250);

    saved.write_to(vector.state("training/environment/", 1, 2));
    vector.unpack();
    VectorEnvironment other(name, 4, seed, 1);
    saved.write_to(other.state("training/environment/", 1, 2));
    other.unpack();
    const std::vector<at::Tensor> again = run(vector, 250);
    const std::vector<at::Tensor> elsewhere = run(other, 250);
    ASSERT_EQ(again.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_TRUE(at::equal(again[i], expected[i])) << name << " " << i;
      ASSERT_TRUE(at::equal(elsewhere[i], expected[i])) << name << " " << i;
    }
  }
}

TEST(VectorEnvironment, StateSaysWhichRowsOfTheWholeItHolds) {
  VectorEnvironment vector("MountainCarContinuous-v0", 4, seed, 2);
  const StateView view = vector.state("training/environment/", 2, 3);
  const StateEntry* state = view.find("training/environment/state");
  ASSERT_NE(state, nullptr);
  EXPECT_EQ(state->shape, (std::vector<std::int64_t>{12, 3}));
  EXPECT_EQ(state->dtype, Dtype::float64);
  ASSERT_EQ(state->extents.size(), 1u);
  EXPECT_EQ(state->extents[0].offset, 24u);
  EXPECT_EQ(state->extents[0].length, 12u);
  const StateEntry* draw = view.find("training/environment/draw");
  ASSERT_NE(draw, nullptr);
  EXPECT_EQ(draw->shape, (std::vector<std::int64_t>{3}));
  EXPECT_EQ(draw->extents.at(0).offset, 2u);
  EXPECT_EQ(draw->extents.at(0).length, 1u);
  EXPECT_EQ(view.find("training/environment/elapsed")->shape, (std::vector<std::int64_t>{12}));
  EXPECT_EQ(view.find("training/environment/episode_return")->dtype, Dtype::float64);
}

TEST(VectorEnvironment, RefusesActionsOfAnotherShapeOrKind) {
  VectorEnvironment discrete("CartPole-v1", 2, seed, 0);
  EXPECT_THROW(discrete.step(at::zeros({3}, at::kLong)), ContractError);
  EXPECT_THROW(discrete.step(at::zeros({2, 1}, at::kLong)), ContractError);
  EXPECT_THROW(discrete.step(at::zeros({2}, at::kFloat)), ContractError);
  EXPECT_THROW(discrete.step(at::full({2}, 2, at::kLong)), ContractError);
  VectorEnvironment continuous("Pendulum-v1", 2, seed, 0);
  EXPECT_THROW(continuous.step(at::zeros({2})), ContractError);
  EXPECT_THROW(continuous.step(at::zeros({2, 1}, at::kDouble)), ContractError);
  EXPECT_THROW(VectorEnvironment("CartPole-v1", 0, seed, 0), ContractError);
  EXPECT_THROW(VectorEnvironment("CartPole-v2", 1, seed, 0), InputError);
}

}  // namespace
}  // namespace lockstep::envs
