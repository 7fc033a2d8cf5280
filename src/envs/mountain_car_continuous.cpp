// MountainCarContinuous-v0: the mountain car with a force of any size and a price on it.
#include <cmath>

#include "actions.hpp"
#include "array_environment.hpp"
#include "registry.hpp"

namespace lockstep::envs {
namespace {

constexpr double power = 0.0015;
constexpr double gravity = 0.0025;
constexpr double position_low = -1.2, position_high = 0.6;
constexpr double speed_limit = 0.07;
constexpr double goal = 0.45;
constexpr double reset_low = -0.6, reset_high = -0.4;

// What the force and the slope add to the velocity, as numpy rounds it: a force within the bounds is float32
// and so is all it touches; a clipped one is a Python float, and the difference is taken in float64.
template <class Real>
Real acceleration(float action, double cosine) {
  const double slope = gravity * cosine;
  if (action < -1.0f || action > 1.0f) {
    return static_cast<Real>((action > 0 ? power : -power) - slope);
  }
  return static_cast<Real>(action * static_cast<float>(power) - static_cast<float>(slope));
}

// One step in the precision that Gymnasium has at that moment. True at the goal.
template <class Real>
bool move(Real& position, Real& velocity, float action) {
  const auto low = static_cast<Real>(position_low), high = static_cast<Real>(position_high);
  const auto limit = static_cast<Real>(speed_limit);
  velocity += acceleration<Real>(action, std::cos(static_cast<double>(Real{3} * position)));
  velocity = std::clamp(velocity, -limit, limit);
  position = std::clamp(position + velocity, low, high);
  if (position == low && velocity < 0) velocity = 0;  // the wall on the left stops it
  return position >= static_cast<Real>(goal) && velocity >= 0;
}

// State: position, velocity, and 1 where these are float32 as Gymnasium keeps them after the first step, 0
// before it. The observation is the position and the velocity.
class MountainCarContinuous final : public ArrayEnvironment<3> {
 public:
  const EnvironmentSpec& spec() const noexcept override {
    static const EnvironmentSpec spec{"MountainCarContinuous-v0", 2, {false, 1, {-1.0}, {1.0}}, 999, 3};
    return spec;
  }

  void reset(RandomStream& stream) override { state_ = {stream.uniform(reset_low, reset_high), 0.0, 0.0}; }

  StepResult step(std::span<const float> action) override {
    check_continuous_action(spec(), action);
    const bool reached = state_[2] != 0 ? step_in<float>(action[0]) : step_in<double>(action[0]);
    const double effort = action[0];  // before clipping
    return {(reached ? 100.0 : 0.0) - effort * effort * 0.1, reached};
  }

  void observe(std::span<float> observation) const override {
    observation[0] = static_cast<float>(state_[0]);
    observation[1] = static_cast<float>(state_[1]);
  }

 private:
  template <class Real>
  bool step_in(float action) {
    auto position = static_cast<Real>(state_[0]), velocity = static_cast<Real>(state_[1]);
    const bool reached = move(position, velocity, action);
    state_ = {static_cast<float>(position), static_cast<float>(velocity), 1.0};
    return reached;
  }
};

}  // namespace

std::unique_ptr<Environment> make_mountain_car_continuous() {
  return std::make_unique<MountainCarContinuous>();
}

}  // namespace lockstep::envs
