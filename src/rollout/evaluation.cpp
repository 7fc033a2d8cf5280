#include "lockstep/rollout/evaluation.hpp"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "episode_chunk.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/exact_sum.hpp"
#include "lockstep/core/fault.hpp"
#include "lockstep/envs/action_rows.hpp"

namespace lockstep::rollout {
namespace {

double sum_over_ranks(comm::Collectives& collectives, const std::vector<double>& numbers) {
  ExactSum sum;
  for (const double number : numbers) sum.add(number);
  comm::merge_sums(collectives, {&sum, 1});
  return sum.value();
}

// The largest of all ranks' numbers.
double largest(comm::Collectives& collectives, const std::vector<double>& numbers) {
  double value = -std::numeric_limits<double>::infinity();
  for (const double number : numbers) value = std::max(value, number);
  collectives.all_reduce(&value, 1, Dtype::float64, comm::ReduceOp::max).wait();
  return value;
}

// `returns` are this rank's.
EvaluationResult summarize(comm::Collectives& collectives, const std::vector<double>& returns,
                           std::int64_t episodes) {
  EvaluationResult result;
  result.episodes = episodes;
  const auto count = static_cast<double>(episodes);
  result.return_mean = sum_over_ranks(collectives, returns) / count;
  std::vector<double> squares, negated;
  for (const double number : returns) {
    squares.push_back((number - result.return_mean) * (number - result.return_mean));
    negated.push_back(-number);
  }
  result.return_std = std::sqrt(sum_over_ranks(collectives, squares) / count);
  result.return_max = largest(collectives, returns);
  result.return_min = -largest(collectives, negated);
  return result;
}

// Every rank tries the policy, also one that will have no chunk: so none is left alone in a collective.
void check_fit(const GreedyPolicy& policy, const envs::EnvironmentSpec& environment) {
  const at::NoGradGuard no_gradient;
  const at::Tensor observation = at::zeros({EpisodeChunk::rows, environment.observation_size}, at::kFloat);
  envs::ActionRows(environment, policy(observation), EpisodeChunk::rows);
}

}  // namespace

EvaluationResult evaluate(comm::Collectives& collectives, const GreedyPolicy& policy,
                          const std::string& environment, std::int64_t episodes, std::uint64_t seed,
                          const std::function<bool()>& stop) {
  if (episodes < 1)
    throw ContractError(fmt::format("{} evaluation episodes; at least 1 is needed", episodes));
  check_fit(policy, envs::environment_spec(environment));
  constexpr std::int64_t rows = EpisodeChunk::rows;
  const std::int64_t chunks = (episodes + rows - 1) / rows;
  EpisodeChunk chunk(environment);
  std::vector<double> returns;
  // A wave is a chunk on every rank; the last may leave some idle. One agreement a wave keeps the ranks'
  // calls alike.
  for (std::int64_t wave = 0; wave * collectives.size() < chunks; ++wave) {
    fault::at("evaluate", static_cast<std::uint64_t>(wave));
    const std::int64_t first = (wave * collectives.size() + collectives.rank()) * rows;
    const std::int64_t last = std::min(first + rows, episodes);
    const bool finished = first >= last || chunk.run(policy, first, last, seed, stop, returns);
    if (comm::any_rank(collectives, !finished)) {
      EvaluationResult abandoned;
      abandoned.abandoned = true;
      return abandoned;
    }
  }
  return summarize(collectives, returns, episodes);
}

}  // namespace lockstep::rollout
