// Pendulum-v1: swing a pendulum up and hold it there with a bounded torque. Never terminates.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "actions.hpp"
#include "array_environment.hpp"
#include "registry.hpp"

namespace lockstep::envs {
namespace {

constexpr double pi = std::numbers::pi;
constexpr double gravity = 10.0;  // mass and length are 1
constexpr double time_step = 0.05;
constexpr double speed_limit = 8.0;
constexpr float torque_limit = 2.0f;
constexpr double reset_speed = 1.0;

// x modulo 2 pi in [-pi, pi), as numpy's % does it: the remainder takes the divisor's sign.
double normalized(double angle) {
  double remainder = std::fmod(angle + pi, 2 * pi);
  if (remainder < 0) remainder += 2 * pi;
  return remainder - pi;
}

// State: angle (0 is upright, not wrapped), angular velocity. Observation: cosine, sine, angular velocity.
class Pendulum final : public ArrayEnvironment<2> {
 public:
  const EnvironmentSpec& spec() const noexcept override {
    static const EnvironmentSpec spec{"Pendulum-v1", 3, {false, 1, {-torque_limit}, {torque_limit}}, 200, 2};
    return spec;
  }

  void reset(RandomStream& stream) override {
    state_[0] = stream.uniform(-pi, pi);
    state_[1] = stream.uniform(-reset_speed, reset_speed);
  }

  StepResult step(std::span<const float> action) override {
    check_continuous_action(spec(), action);
    auto& [angle, velocity] = state_;
    // Gymnasium keeps the torque in float32 until it meets the float64 state.
    const float torque = std::clamp(action[0], -torque_limit, torque_limit);
    const double torque_cost = 0.001f * (torque * torque);
    const double torque_acceleration = 3.0f * torque;

    const double deviation = normalized(angle);
    const double cost = deviation * deviation + 0.1 * (velocity * velocity) + torque_cost;
    velocity += (3 * gravity / 2 * std::sin(angle) + torque_acceleration) * time_step;
    velocity = std::clamp(velocity, -speed_limit, speed_limit);
    angle += velocity * time_step;
    return {-cost, false};
  }

  void observe(std::span<float> observation) const override {
    observation[0] = static_cast<float>(std::cos(state_[0]));
    observation[1] = static_cast<float>(std::sin(state_[0]));
    observation[2] = static_cast<float>(state_[1]);
  }
};

}  // namespace

std::unique_ptr<Environment> make_pendulum() {
  return std::make_unique<Pendulum>();
}

}  // namespace lockstep::envs
