#include "window.hpp"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <cstring>
#include <limits>

#include "lockstep/core/error.hpp"
#include "lockstep/losses/value_estimators.hpp"

namespace lockstep::rollout {
namespace {

// Copies `rows` to the place of step t. A plain copy of bytes: a tensor operation would cost more than the
// step itself.
void put(const at::Tensor& window, std::int64_t t, const at::Tensor& rows) {
  const at::Tensor source = rows.contiguous();
  const bool whole = source.dim() == window.dim() && source.sizes().slice(1) == window.sizes().slice(1) &&
                     window.size(0) % source.size(0) == 0;
  if (!whole || source.scalar_type() != window.scalar_type() || !source.is_cpu()) {
    throw ContractError(fmt::format(
        "a step gave {} [{}] on {}; the rollout holds {} rows of shape [{}] on the CPU",
        c10::toString(source.scalar_type()), fmt::join(source.sizes(), ", "), source.device().str(),
        c10::toString(window.scalar_type()), fmt::join(window.sizes().slice(1), ", ")));
  }
  const std::size_t bytes = source.nbytes();
  std::memcpy(static_cast<std::byte*>(window.mutable_data_ptr()) + t * bytes, source.const_data_ptr(), bytes);
}

}  // namespace

Window::Window(const envs::EnvironmentSpec& spec, std::int64_t steps, std::int64_t environments)
    : steps_(steps), environments_(environments) {
  const std::int64_t rows = steps * environments;
  observation_ = at::empty({rows, spec.observation_size}, at::kFloat);
  next_observation_ = at::empty_like(observation_);
  action_ =
      spec.action.discrete ? at::empty({rows}, at::kLong) : at::empty({rows, spec.action.size}, at::kFloat);
  for (at::Tensor* tensor : {&log_prob_, &reward_, &value_, &next_value_}) {
    *tensor = at::empty({rows}, at::kFloat);
  }
  for (at::Tensor* tensor : {&terminated_, &truncated_}) *tensor = at::empty({rows}, at::kBool);
}

void Window::put_decision(std::int64_t t, const at::Tensor& observation, const Decision& decision) {
  put(observation_, t, observation);
  put(action_, t, decision.action);
  put(log_prob_, t, decision.log_prob);
  put(value_, t, decision.value);
}

void Window::put_step(std::int64_t t, const envs::VectorStep& step) {
  put(reward_, t, step.reward);
  put(terminated_, t, step.terminated);
  put(truncated_, t, step.truncated);
  put(next_observation_, t, step.next_observation);
}

void Window::put_next_value(std::int64_t t, const at::Tensor& value) {
  put(next_value_, t, value);
}

void Window::poison_reward() {
  reward_.mutable_data_ptr<float>()[0] = std::numeric_limits<float>::quiet_NaN();
}

// Where no episode ended, the next observation is the one that the policy saw at step t + 1, and its value is
// known.
void Window::fill_next_values() {
  const float* value = value_.const_data_ptr<float>();
  const bool* terminated = terminated_.const_data_ptr<bool>();
  const bool* truncated = truncated_.const_data_ptr<bool>();
  float* next = next_value_.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < (steps_ - 1) * environments_; ++i) {
    if (!terminated[i] && !truncated[i]) next[i] = value[i + environments_];
  }
}

at::Tensor Window::by_step(const at::Tensor& rows) const {
  return rows.view({steps_, environments_});
}

Batch Window::finish(double gamma, double lambda) {
  fill_next_values();
  const losses::Trajectory trajectory{by_step(reward_), by_step(value_), by_step(next_value_),
                                      by_step(terminated_), by_step(at::logical_or(terminated_, truncated_))};
  const losses::ValueEstimate estimate = losses::gae(trajectory, gamma, lambda);
  Batch batch;
  batch.add(key::observation, observation_);
  batch.add(key::next_observation, next_observation_);
  batch.add(key::action, action_);
  batch.add(key::log_prob, log_prob_);
  batch.add(key::reward, reward_);
  batch.add(key::terminated, terminated_);
  batch.add(key::truncated, truncated_);
  batch.add(key::value, value_);
  batch.add(key::next_value, next_value_);
  batch.add(key::advantage, estimate.advantage.reshape({-1}));
  batch.add(key::value_target, estimate.target.reshape({-1}));
  return batch;
}

}  // namespace lockstep::rollout
