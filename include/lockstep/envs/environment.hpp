// Environments: one simulation behind one interface, native ones made by name.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/core/random.hpp"

namespace lockstep::envs {

struct ActionSpace {
  bool discrete = true;
  std::int64_t size = 0;          // number of actions, or the dimension of a continuous action
  std::vector<double> low, high;  // continuous only
};

struct EnvironmentSpec {
  std::string name;  // Gymnasium's id, "CartPole-v1"
  std::int64_t observation_size = 0;
  ActionSpace action;
  std::int64_t time_limit = 0;  // steps; reaching it is a truncation
  std::int64_t state_size = 0;  // doubles of the simulation's state
};

struct StepResult {
  double reward = 0;
  bool terminated = false;
};

// One simulation. Equal to Gymnasium's step for step from the same state (tests/envs). Knows no time limit.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual const EnvironmentSpec& spec() const noexcept = 0;
  // Gymnasium's start range, drawn from `stream`.
  virtual void reset(RandomStream& stream) = 0;
  // action: one number (discrete, an integer in range) or spec().action.size floats, clipped where Gymnasium
  // clips. ContractError on a non-finite or out-of-range discrete action.
  virtual StepResult step(std::span<const float> action) = 0;
  virtual void observe(std::span<float> observation) const = 0;
  // The exact state, state_size doubles, and back.
  virtual void save(std::span<double> state) const = 0;
  virtual void load(std::span<const double> state) = 0;
};

// InputError naming the known environments, the nearest first, when there is none of this name.
std::unique_ptr<Environment> make_environment(std::string_view name);
// Sorted names.
std::vector<std::string> environment_names();
const EnvironmentSpec& environment_spec(std::string_view name);

}  // namespace lockstep::envs
