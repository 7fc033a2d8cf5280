#include "episode_chunk.hpp"

#include <ATen/ATen.h>

#include "lockstep/envs/action_rows.hpp"

namespace lockstep::rollout {

EpisodeChunk::EpisodeChunk(const std::string& environment) : spec_(envs::environment_spec(environment)) {
  for (std::int64_t row = 0; row < rows; ++row) {
    environments_.push_back(envs::make_environment(environment));
  }
  observation_ = at::empty({rows, spec_.observation_size}, at::kFloat);
}

void EpisodeChunk::observe(std::int64_t row) {
  const auto size = static_cast<std::size_t>(spec_.observation_size);
  environments_[row]->observe({observation_.mutable_data_ptr<float>() + row * size, size});
}

void EpisodeChunk::start(std::int64_t first, std::int64_t last, std::uint64_t seed) {
  observation_.zero_();
  returns_.assign(rows, 0.0);
  running_.clear();
  elapsed_ = 0;
  for (std::int64_t episode = first; episode < last; ++episode) {
    const std::int64_t row = episode - first;
    RandomStream stream(seed, StreamId::evaluation, static_cast<std::uint32_t>(episode));
    environments_[row]->reset(stream);
    observe(row);
    running_.push_back(row);
  }
}

void EpisodeChunk::step(const at::Tensor& action) {
  envs::ActionRows actions(spec_, action, rows);
  const bool limit = ++elapsed_ >= spec_.time_limit;
  std::erase_if(running_, [&](std::int64_t row) {
    const envs::StepResult result = environments_[row]->step(actions.row(row));
    returns_[row] += result.reward;
    observe(row);
    return result.terminated || limit;
  });
}

bool EpisodeChunk::run(const GreedyPolicy& policy, std::int64_t first, std::int64_t last, std::uint64_t seed,
                       const std::function<bool()>& stop, std::vector<double>& returns) {
  const at::NoGradGuard no_gradient;
  start(first, last, seed);
  while (!running_.empty()) {
    if (stop && stop()) return false;
    step(policy(observation_));
  }
  returns.insert(returns.end(), returns_.begin(), returns_.begin() + (last - first));
  return true;
}

}  // namespace lockstep::rollout
