// MountainCar-v0: a car too weak to climb the hill at once must swing up (Moore, "Efficient memory-based
// learning for robot control", 1990).
#include <cmath>

#include "actions.hpp"
#include "array_environment.hpp"
#include "registry.hpp"

namespace lockstep::envs {
namespace {

constexpr double force = 0.001;
constexpr double gravity = 0.0025;
constexpr double position_low = -1.2, position_high = 0.6;
constexpr double speed_limit = 0.07;
constexpr double goal = 0.5;
constexpr double reset_low = -0.6, reset_high = -0.4;

// State: position, velocity; the observation is the state. Action: 0 left, 1 coast, 2 right.
class MountainCar final : public ArrayEnvironment<2> {
 public:
  const EnvironmentSpec& spec() const noexcept override {
    static const EnvironmentSpec spec{"MountainCar-v0", 2, {true, 3, {}, {}}, 200, 2};
    return spec;
  }

  void reset(RandomStream& stream) override { state_ = {stream.uniform(reset_low, reset_high), 0.0}; }

  StepResult step(std::span<const float> action) override {
    const auto push = static_cast<double>(discrete_action(spec(), action) - 1);
    auto& [position, velocity] = state_;
    velocity += push * force + std::cos(3 * position) * -gravity;
    velocity = std::clamp(velocity, -speed_limit, speed_limit);
    position = std::clamp(position + velocity, position_low, position_high);
    if (position == position_low && velocity < 0) velocity = 0;  // the wall on the left stops it
    return {-1.0, position >= goal && velocity >= 0};
  }

  void observe(std::span<float> observation) const override {
    observation[0] = static_cast<float>(state_[0]);
    observation[1] = static_cast<float>(state_[1]);
  }
};

}  // namespace

std::unique_ptr<Environment> make_mountain_car() {
  return std::make_unique<MountainCar>();
}

}  // namespace lockstep::envs
