// Names, spaces, start ranges, refused actions and exact state of the native environments.
#include "lockstep/envs/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "lockstep/core/error.hpp"

namespace lockstep::envs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<double> state_of(const Environment& environment) {
  std::vector<double> state(environment.spec().state_size);
  environment.save(state);
  return state;
}

TEST(Registry, NamesAreSortedAndHaveGymnasiumsLimits) {
  EXPECT_THAT(environment_names(), ElementsAre("Acrobot-v1", "CartPole-v1", "MountainCar-v0",
                                               "MountainCarContinuous-v0", "Pendulum-v1"));
  const std::vector<std::int64_t> limits{500, 500, 200, 999, 200};
  const std::vector<std::int64_t> observations{6, 4, 2, 2, 3};
  const std::vector<std::int64_t> actions{3, 2, 3, 1, 1};
  std::size_t i = 0;
  for (const std::string& name : environment_names()) {
    const EnvironmentSpec& spec = environment_spec(name);
    EXPECT_EQ(spec.name, name);
    EXPECT_EQ(spec.time_limit, limits[i]) << name;
    EXPECT_EQ(spec.observation_size, observations[i]) << name;
    EXPECT_EQ(spec.action.size, actions[i]) << name;
    EXPECT_EQ(spec.action.discrete, actions[i] != 1) << name;
    EXPECT_EQ(make_environment(name)->spec().name, name);
    ++i;
  }
}

TEST(Registry, UnknownNameListsTheNearestFirst) {
  try {
    make_environment("Cartpole-v1");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"Cartpole-v1\"; there are CartPole-v1, "));
    EXPECT_THAT(error.what(), HasSubstr("Pendulum-v1"));
  }
  EXPECT_THROW(environment_spec(""), InputError);
}

struct Range {
  double low, high;
};

TEST(Reset, DrawsFromGymnasiumsRanges) {
  const double pi = std::numbers::pi;
  const std::map<std::string, std::vector<Range>> ranges{
      {"Acrobot-v1", std::vector<Range>(4, {-0.1, 0.1})},
      {"CartPole-v1", std::vector<Range>(4, {-0.05, 0.05})},
      {"MountainCar-v0", {{-0.6, -0.4}, {0, 0}}},
      {"MountainCarContinuous-v0", {{-0.6, -0.4}, {0, 0}, {0, 0}}},
      {"Pendulum-v1", {{-pi, pi}, {-1, 1}}},
  };
  for (const auto& [name, range] : ranges) {
    const auto environment = make_environment(name);
    RandomStream stream(7, StreamId::test, 0);
    std::vector<Range> seen(range.size(), {1e9, -1e9});
    for (int i = 0; i < 2000; ++i) {
      environment->reset(stream);
      const std::vector<double> state = state_of(*environment);
      for (std::size_t k = 0; k < range.size(); ++k) {
        seen[k] = {std::min(seen[k].low, state[k]), std::max(seen[k].high, state[k])};
      }
    }
    for (std::size_t k = 0; k < range.size(); ++k) {
      const double slack = 0.01 * (range[k].high - range[k].low);  // 2000 draws come this near to the ends
      // Acrobot's start is rounded to float32, which may go beyond the end by half an ulp.
      EXPECT_GE(seen[k].low, range[k].low - 1e-8) << name << k;
      EXPECT_LE(seen[k].low, range[k].low + slack) << name << k;
      EXPECT_LE(seen[k].high, range[k].high + 1e-8) << name << k;
      EXPECT_GE(seen[k].high, range[k].high - slack) << name << k;
    }
  }
}

TEST(Actions, BadOnesAreRefusedAndLeaveTheStateAlone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::string& name : environment_names()) {
    const auto environment = make_environment(name);
    RandomStream stream(7, StreamId::test, 0);
    environment->reset(stream);
    const std::vector<double> before = state_of(*environment);
    std::vector<std::vector<float>> bad{{}, {0, 0}, {nan}, {infinity}, {-infinity}};
    if (environment->spec().action.discrete) {
      const auto size = static_cast<float>(environment->spec().action.size);
      bad.insert(bad.end(), {{-1}, {size}, {0.5f}, {1e30f}});
    }
    for (const auto& action : bad) {
      EXPECT_THROW(environment->step(action), ContractError) << name << " " << testing::PrintToString(action);
    }
    EXPECT_EQ(state_of(*environment), before) << name;
  }
}

TEST(Actions, TheMessageSaysWhatWouldBeRight) {
  const auto environment = make_environment("Acrobot-v1");
  const std::vector<float> action{3};
  EXPECT_THAT([&] { environment->step(action); },
              testing::ThrowsMessage<ContractError>(
                  HasSubstr("Acrobot-v1: action 3; it must be an integer from 0 to 2")));
}

TEST(State, OfAnotherSizeIsRefused) {
  for (const std::string& name : environment_names()) {
    const auto environment = make_environment(name);
    std::vector<double> state(environment->spec().state_size + 1);
    EXPECT_THROW(environment->load(state), ContractError) << name;
    EXPECT_THROW(environment->save(state), ContractError) << name;
  }
}

TEST(State, RestoresExactlyAtEveryStep) {
  for (const std::string& name : environment_names()) {
    const auto first = make_environment(name), second = make_environment(name);
    const ActionSpace& space = first->spec().action;
    RandomStream stream(11, StreamId::test, 0);
    first->reset(stream);
    for (int t = 0; t < 100; ++t) {
      second->load(state_of(*first));
      const std::vector<float> action{space.discrete ? static_cast<float>(stream.below(space.size))
                                                     : static_cast<float>(stream.uniform(-3, 3))};
      EXPECT_EQ(first->step(action).reward, second->step(action).reward) << name << t;
      EXPECT_EQ(state_of(*first), state_of(*second)) << name << t;
    }
  }
}

// By hand: 0.0025 cos(-1.5) = 1.768e-4 off a force of 0.0015, the same from 1 and from beyond 1; the price is
// of the whole force.
TEST(MountainCarContinuous, ClipsTheForceButNotItsPrice) {
  const auto environment = make_environment("MountainCarContinuous-v0");
  const std::vector<double> start{-0.5, 0, 0};
  environment->load(start);
  const StepResult step = environment->step(std::vector<float>{3.0f});
  EXPECT_DOUBLE_EQ(step.reward, -0.9);
  EXPECT_NEAR(state_of(*environment)[1], 0.0015 - 0.0025 * std::cos(-1.5), 1e-9);
  EXPECT_EQ(state_of(*environment)[2], 1.0);
}

}  // namespace
}  // namespace lockstep::envs
