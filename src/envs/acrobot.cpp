// Acrobot-v1: a two-link pendulum driven at the middle joint; swing its tip above a line.
// Sutton and Barto, "Reinforcement Learning: An Introduction", the book's equations; one Runge-Kutta step an
// action.
#include <cmath>
#include <numbers>

#include "actions.hpp"
#include "array_environment.hpp"
#include "registry.hpp"

namespace lockstep::envs {
namespace {

constexpr double pi = std::numbers::pi;
constexpr double time_step = 0.2;
constexpr double gravity = 9.8;
constexpr double mass_1 = 1.0, mass_2 = 1.0;
constexpr double length_1 = 1.0;
constexpr double center_1 = 0.5, center_2 = 0.5;
constexpr double moment = 1.0;  // of either link
constexpr double speed_limit_1 = 4 * pi, speed_limit_2 = 9 * pi;
constexpr double reset_limit = 0.1;

// Two angles, then their rates.
using Vector = std::array<double, 4>;

Vector derivative(const Vector& state, double torque) {
  const auto [angle_1, angle_2, rate_1, rate_2] = state;
  const double cosine_2 = std::cos(angle_2);
  const double sine_2 = std::sin(angle_2);
  const double d1 =
      mass_1 * (center_1 * center_1) +
      mass_2 * (length_1 * length_1 + center_2 * center_2 + 2 * length_1 * center_2 * cosine_2) + moment +
      moment;
  const double d2 = mass_2 * (center_2 * center_2 + length_1 * center_2 * cosine_2) + moment;
  const double phi2 = mass_2 * center_2 * gravity * std::cos(angle_1 + angle_2 - pi / 2.0);
  const double phi1 = -mass_2 * length_1 * center_2 * (rate_2 * rate_2) * sine_2 -
                      2 * mass_2 * length_1 * center_2 * rate_2 * rate_1 * sine_2 +
                      (mass_1 * center_1 + mass_2 * length_1) * gravity * std::cos(angle_1 - pi / 2) + phi2;
  const double acceleration_2 =
      (torque + d2 / d1 * phi1 - mass_2 * length_1 * center_2 * (rate_1 * rate_1) * sine_2 - phi2) /
      (mass_2 * (center_2 * center_2) + moment - d2 * d2 / d1);
  const double acceleration_1 = -(d2 * acceleration_2 + phi1) / d1;
  return {rate_1, rate_2, acceleration_1, acceleration_2};
}

Vector plus(const Vector& state, double factor, const Vector& slope) {
  Vector moved;
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = state[i] + factor * slope[i];
  return moved;
}

Vector runge_kutta(const Vector& state, double torque) {
  const Vector k1 = derivative(state, torque);
  const Vector k2 = derivative(plus(state, time_step / 2, k1), torque);
  const Vector k3 = derivative(plus(state, time_step / 2, k2), torque);
  const Vector k4 = derivative(plus(state, time_step, k3), torque);
  Vector slope;
  for (std::size_t i = 0; i < slope.size(); ++i) slope[i] = k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i];
  return plus(state, time_step / 6, slope);
}

double wrap(double angle) {
  while (angle > pi) angle -= 2 * pi;
  while (angle < -pi) angle += 2 * pi;
  return angle;
}

// Observation: cosine and sine of either angle, then the rates. Action: torque + 1.
class Acrobot final : public ArrayEnvironment<4> {
 public:
  const EnvironmentSpec& spec() const noexcept override {
    static const EnvironmentSpec spec{"Acrobot-v1", 6, {true, 3, {}, {}}, 500, 4};
    return spec;
  }

  void reset(RandomStream& stream) override {
    // Gymnasium rounds this start, and only this, to float32.
    for (double& number : state_) {
      number = static_cast<float>(stream.uniform(-reset_limit, reset_limit));
    }
  }

  StepResult step(std::span<const float> action) override {
    const double torque = static_cast<double>(discrete_action(spec(), action)) - 1.0;
    state_ = runge_kutta(state_, torque);
    auto& [angle_1, angle_2, rate_1, rate_2] = state_;
    angle_1 = wrap(angle_1);
    angle_2 = wrap(angle_2);
    rate_1 = std::clamp(rate_1, -speed_limit_1, speed_limit_1);
    rate_2 = std::clamp(rate_2, -speed_limit_2, speed_limit_2);
    const bool above = -std::cos(angle_1) - std::cos(angle_2 + angle_1) > 1.0;
    return {above ? 0.0 : -1.0, above};
  }

  void observe(std::span<float> observation) const override {
    const double numbers[] = {std::cos(state_[0]), std::sin(state_[0]), std::cos(state_[1]),
                              std::sin(state_[1]), state_[2],           state_[3]};
    for (std::size_t i = 0; i < std::size(numbers); ++i) observation[i] = static_cast<float>(numbers[i]);
  }
};

}  // namespace

std::unique_ptr<Environment> make_acrobot() {
  return std::make_unique<Acrobot>();
}

}  // namespace lockstep::envs
