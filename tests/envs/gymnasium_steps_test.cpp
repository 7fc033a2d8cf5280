// Every native environment against Gymnasium, step by step from the same state (gymnasium_steps.h5).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <span>

#include "lockstep/envs/environment.hpp"
#include "support/reference.hpp"

namespace lockstep::envs {
namespace {

struct Tolerance {
  double state = 1e-12, reward = 1e-12;
};

Tolerance tolerance_of(const std::string& name) {
  if (name == "Pendulum-v1") return {1e-12, 1e-10};  // numpy's float32 power is not always u * u
  if (name == "MountainCarContinuous-v0") return {0, 1e-12};
  return {};
}

// Sines and cosines may differ by one float32 ulp, everything else in an observation by nothing.
bool is_trigonometric(const std::string& name, std::int64_t index) {
  return (name == "Pendulum-v1" && index < 2) || (name == "Acrobot-v1" && index < 4);
}

bool within_one_ulp(float a, float b) {
  return a == b || std::nextafter(a, std::numeric_limits<float>::infinity()) == b ||
         std::nextafter(a, -std::numeric_limits<float>::infinity()) == b;
}

// One group of the file, read whole.
struct Trajectories {
  Trajectories(const test::ReferenceFile& file, const std::string& group)
      : name(group),
        state(file.doubles(group + "/state")),
        observation(file.doubles(group + "/obs")),
        action(file.doubles(group + "/action")),
        reward(file.doubles(group + "/reward")),
        terminated(file.booleans(group + "/terminated")),
        rows(reward.shape.at(0)),
        steps(reward.shape.at(1)) {}

  template <class T>
  static std::span<const T> row(const test::ReferenceArray<T>& array, std::int64_t i, std::int64_t t) {
    const std::int64_t width = array.shape.size() == 3 ? array.shape[2] : 1;
    return {array.values.data() + (i * array.shape[1] + t) * width, static_cast<std::size_t>(width)};
  }

  // What Environment::load takes: the file's state, and for MountainCarContinuous whether Gymnasium holds it
  // in float32.
  std::vector<double> loadable(std::int64_t i, std::int64_t t) const {
    const auto given = row(state, i, t);
    std::vector<double> numbers(given.begin(), given.end());
    if (name == "MountainCarContinuous-v0") numbers.push_back(t > 0 ? 1.0 : 0.0);
    return numbers;
  }

  std::string name;
  test::ReferenceArray<double> state, observation, action, reward;
  test::ReferenceArray<bool> terminated;
  std::int64_t rows, steps;
};

void expect_observation(const Trajectories& expected, const Environment& environment, std::int64_t i,
                        std::int64_t t) {
  std::vector<float> observation(environment.spec().observation_size);
  environment.observe(observation);
  const auto reference = Trajectories::row(expected.observation, i, t);
  ASSERT_EQ(observation.size(), reference.size());
  for (std::size_t k = 0; k < reference.size(); ++k) {
    const auto wanted = static_cast<float>(reference[k]);
    if (is_trigonometric(expected.name, k)) {
      EXPECT_TRUE(within_one_ulp(observation[k], wanted)) << observation[k] << " against " << wanted;
    } else {
      EXPECT_EQ(observation[k], wanted) << "number " << k;
    }
  }
}

// Loads state t of row i, checks its observation, steps, checks all that the step gave. Returns whether it
// terminated.
bool check_step(const Trajectories& expected, Environment& environment, std::int64_t i, std::int64_t t) {
  SCOPED_TRACE(testing::Message() << expected.name << " row " << i << " step " << t);
  const Tolerance tolerance = tolerance_of(expected.name);
  environment.load(expected.loadable(i, t));
  expect_observation(expected, environment, i, t);

  const auto numbers = Trajectories::row(expected.action, i, t);
  const StepResult step = environment.step(std::vector<float>(numbers.begin(), numbers.end()));
  const double reward = Trajectories::row(expected.reward, i, t)[0];
  EXPECT_NEAR(step.reward, reward, tolerance.reward * (1 + std::abs(reward)));
  const bool terminated = expected.terminated.values[i * expected.steps + t];
  EXPECT_EQ(step.terminated, terminated);

  std::vector<double> state(environment.spec().state_size);
  environment.save(state);
  const auto wanted = Trajectories::row(expected.state, i, t + 1);
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    EXPECT_NEAR(state[k], wanted[k], tolerance.state * (1 + std::abs(wanted[k]))) << "state " << k;
  }
  return terminated;
}

std::int64_t check_group(const Trajectories& expected) {
  const auto environment = make_environment(expected.name);
  std::int64_t checked = 0;
  for (std::int64_t i = 0; i < expected.rows; ++i) {
    for (std::int64_t t = 0; t < expected.steps; ++t, ++checked) {
      // Steps after the one that terminates mean nothing. Of a row that fails, the first failure says enough.
      if (check_step(expected, *environment, i, t) || testing::Test::HasFailure()) break;
    }
  }
  return checked;
}

TEST(GymnasiumSteps, AllGroupsOfTheFile) {
  const test::ReferenceFile file("gymnasium_steps.h5");
  const std::vector<std::string> known = environment_names();
  std::int64_t checked = 0;
  for (const std::string& group : file.groups()) {
    if (std::find(known.begin(), known.end(), group) == known.end()) {
      std::cout << "skipped " << group << ": no native environment of this name\n";
      continue;
    }
    const std::int64_t steps = check_group(Trajectories(file, group));
    std::cout << group << ": " << steps << " steps checked\n";
    checked += steps;
  }
  EXPECT_GT(checked, 0) << "the file has no group of a known environment";
}

}  // namespace
}  // namespace lockstep::envs
