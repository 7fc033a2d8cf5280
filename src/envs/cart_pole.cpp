// CartPole-v1: a pole hinged on a cart that is pushed left or right with a constant force.
// Barto, Sutton, Anderson, "Neuronlike adaptive elements that can solve difficult learning control problems",
// 1983; equations as corrected by Florian, "Correct equations for the dynamics of the cart-pole system",
// 2007.
#include <cmath>
#include <numbers>

#include "actions.hpp"
#include "array_environment.hpp"
#include "registry.hpp"

namespace lockstep::envs {
namespace {

constexpr double gravity = 9.8;
constexpr double pole_mass = 0.1;
constexpr double total_mass = pole_mass + 1.0;
constexpr double half_length = 0.5;
constexpr double pole_moment = pole_mass * half_length;
constexpr double push = 10.0;
constexpr double time_step = 0.02;
constexpr double position_limit = 2.4;
constexpr double angle_limit = 12 * 2 * std::numbers::pi / 360;
constexpr double reset_limit = 0.05;

// State: position, velocity, angle, angular velocity; the observation is the state.
class CartPole final : public ArrayEnvironment<4> {
 public:
  const EnvironmentSpec& spec() const noexcept override {
    static const EnvironmentSpec spec{"CartPole-v1", 4, {true, 2, {}, {}}, 500, 4};
    return spec;
  }

  void reset(RandomStream& stream) override {
    for (double& number : state_) number = stream.uniform(-reset_limit, reset_limit);
  }

  StepResult step(std::span<const float> action) override {
    const double force = discrete_action(spec(), action) == 1 ? push : -push;
    auto& [position, velocity, angle, angular_velocity] = state_;
    const double cosine = std::cos(angle);
    const double sine = std::sin(angle);
    const double cart = (force + pole_moment * (angular_velocity * angular_velocity) * sine) / total_mass;
    const double angular_acceleration =
        (gravity * sine - cosine * cart) /
        (half_length * (4.0 / 3.0 - pole_mass * (cosine * cosine) / total_mass));
    const double acceleration = cart - pole_moment * angular_acceleration * cosine / total_mass;

    // Euler: positions move with the old velocities.
    position += time_step * velocity;
    velocity += time_step * acceleration;
    angle += time_step * angular_velocity;
    angular_velocity += time_step * angular_acceleration;
    return {1.0, std::abs(position) > position_limit || std::abs(angle) > angle_limit};
  }

  void observe(std::span<float> observation) const override {
    for (std::size_t i = 0; i < state_.size(); ++i) observation[i] = static_cast<float>(state_[i]);
  }
};

}  // namespace

std::unique_ptr<Environment> make_cart_pole() {
  return std::make_unique<CartPole>();
}

}  // namespace lockstep::envs
