#include "lockstep/envs/vector_environment.hpp"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>

#include <span>

#include "lockstep/core/error.hpp"
#include "lockstep/envs/action_rows.hpp"

namespace lockstep::envs {

struct VectorEnvironment::State {
  State(std::string_view name, std::int64_t count, std::uint64_t seed, std::uint32_t shard, StreamId stream);

  std::span<float> row(const at::Tensor& rows, std::int64_t index) const {
    return {rows.mutable_data_ptr<float>() + index * observation_size, std::size_t(observation_size)};
  }
  std::span<double> saved_row(std::int64_t index) {
    return {saved_states.data() + index * spec->state_size, std::size_t(spec->state_size)};
  }
  void step_one(std::int64_t index, std::span<const float> action);

  const EnvironmentSpec* spec;
  std::int64_t count, observation_size;
  std::vector<std::unique_ptr<Environment>> environments;
  RandomStream resets;
  std::vector<std::int64_t> elapsed;    // steps of the running episodes
  std::vector<double> episode_returns;  // of the running episodes
  at::Tensor observation;
  VectorStep result;
  // What pack fills and unpack reads, where these are not live already.
  std::vector<double> saved_states;
  std::int64_t saved_draw = 0;
};

VectorEnvironment::State::State(std::string_view name, std::int64_t environment_count, std::uint64_t seed,
                                std::uint32_t shard, StreamId stream)
    : spec(&environment_spec(name)),
      count(environment_count),
      observation_size(spec->observation_size),
      resets(seed, stream, shard) {
  if (count < 1) throw ContractError(fmt::format("{} environments; at least 1 is needed", count));
  elapsed.assign(count, 0);
  episode_returns.assign(count, 0.0);
  observation = at::empty({count, observation_size}, at::kFloat);
  result.reward = at::empty({count}, at::kFloat);
  result.terminated = at::empty({count}, at::kBool);
  result.truncated = at::empty({count}, at::kBool);
  result.next_observation = at::empty({count, observation_size}, at::kFloat);
  saved_states.resize(count * spec->state_size);
  for (std::int64_t i = 0; i < count; ++i) {
    environments.push_back(make_environment(name));
    environments[i]->reset(resets);
    environments[i]->observe(row(observation, i));
  }
}

void VectorEnvironment::State::step_one(std::int64_t index, std::span<const float> action) {
  Environment& environment = *environments[index];
  const StepResult step = environment.step(action);
  const bool truncated = ++elapsed[index] >= spec->time_limit && !step.terminated;
  episode_returns[index] += step.reward;
  result.reward.mutable_data_ptr<float>()[index] = static_cast<float>(step.reward);
  result.terminated.mutable_data_ptr<bool>()[index] = step.terminated;
  result.truncated.mutable_data_ptr<bool>()[index] = truncated;
  const std::span<float> next = row(result.next_observation, index);
  environment.observe(next);
  if (!step.terminated && !truncated) {
    std::copy(next.begin(), next.end(), row(observation, index).begin());
    return;
  }
  result.any_done = true;
  result.returns.push_back(episode_returns[index]);
  episode_returns[index] = 0;
  elapsed[index] = 0;
  environment.reset(resets);
  environment.observe(row(observation, index));
}

VectorEnvironment::VectorEnvironment(std::string_view name, std::int64_t count, std::uint64_t seed,
                                     std::uint32_t shard, StreamId stream)
    : state_(std::make_shared<State>(name, count, seed, shard, stream)) {}

const EnvironmentSpec& VectorEnvironment::spec() const noexcept {
  return *state_->spec;
}
std::int64_t VectorEnvironment::count() const noexcept {
  return state_->count;
}
const at::Tensor& VectorEnvironment::observation() const noexcept {
  return state_->observation;
}

const VectorStep& VectorEnvironment::step(const at::Tensor& action) {
  State& state = *state_;
  ActionRows actions(*state.spec, action, state.count);
  state.result.returns.clear();
  state.result.any_done = false;
  for (std::int64_t i = 0; i < state.count; ++i) state.step_one(i, actions.row(i));
  return state.result;
}

StateView VectorEnvironment::state(const std::string& prefix, std::int64_t shard, std::int64_t shards) {
  State& state = *state_;
  StateView view;
  const auto add = [&](const char* name, Dtype dtype, std::vector<std::int64_t> shape, void* data) {
    std::int64_t elements = 1;  // of this shard: the whole over the shards
    for (const std::int64_t size : shape) elements *= size;
    elements /= shards;
    const Extent extent{static_cast<std::uint64_t>(shard * elements), static_cast<std::uint64_t>(elements),
                        static_cast<std::byte*>(data)};
    view.entries.push_back({prefix + name, dtype, std::move(shape), {extent}});
  };
  const std::int64_t rows = shards * state.count;
  add("state", Dtype::float64, {rows, state.spec->state_size}, state.saved_states.data());
  add("elapsed", Dtype::int64, {rows}, state.elapsed.data());
  add("episode_return", Dtype::float64, {rows}, state.episode_returns.data());
  add("draw", Dtype::int64, {shards}, &state.saved_draw);
  return view;
}

void VectorEnvironment::pack() {
  State& state = *state_;
  for (std::int64_t i = 0; i < state.count; ++i) state.environments[i]->save(state.saved_row(i));
  state.saved_draw = static_cast<std::int64_t>(state.resets.draw());
}

void VectorEnvironment::unpack() {
  State& state = *state_;
  for (std::int64_t i = 0; i < state.count; ++i) {
    state.environments[i]->load(state.saved_row(i));
    state.environments[i]->observe(state.row(state.observation, i));
  }
  state.resets.set_draw(static_cast<std::uint64_t>(state.saved_draw));
}

}  // namespace lockstep::envs
