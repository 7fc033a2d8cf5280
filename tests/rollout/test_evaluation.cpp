// Greedy evaluation gives the same bits on any number of ranks, and stops on all when one says so.
#include "lockstep/rollout/evaluation.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lockstep/core/error.hpp"
#include "lockstep/envs/action_rows.hpp"
#include "lockstep/nn/actor_critic.hpp"

namespace lockstep::rollout {
namespace {

constexpr std::uint64_t seed = 77;

nn::ActorCritic make_network(const std::string& environment) {
  const envs::EnvironmentSpec& spec = envs::environment_spec(environment);
  nn::ActorCriticOptions options;
  options.observation_size = spec.observation_size;
  options.discrete = spec.action.discrete;
  options.action_size = spec.action.size;
  options.hidden = {16};
  nn::ActorCritic network(options);
  network.initialize(5);
  return network;
}

GreedyPolicy greedy(nn::ActorCritic& network) {
  return [&network](const at::Tensor& observation) { return nn::mode(network.policy(observation)); };
}

std::unique_ptr<comm::Collectives> world() {
  return comm::make_collectives(comm::Communicator::world(), "mpi", 60);
}
// This rank alone.
std::unique_ptr<comm::Collectives> alone() {
  const auto all = comm::Communicator::world();
  return comm::make_collectives(all.split(all.rank(), 0), "mpi", 60);
}

void expect_same(const EvaluationResult& a, const EvaluationResult& b) {
  EXPECT_EQ(a.return_mean, b.return_mean);
  EXPECT_EQ(a.return_std, b.return_std);
  EXPECT_EQ(a.return_min, b.return_min);
  EXPECT_EQ(a.return_max, b.return_max);
  EXPECT_EQ(a.episodes, b.episodes);
  EXPECT_FALSE(a.abandoned);
  EXPECT_FALSE(b.abandoned);
}

class Evaluation : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Environments, Evaluation,
                         testing::Values("CartPole-v1", "Pendulum-v1", "Acrobot-v1"),
                         [](const auto& info) { return std::string(info.param).substr(0, 7); });

// 1 and 16: one chunk, ranks without work; 40: a short last chunk; 70: more chunks than ranks.
TEST_P(Evaluation, IsTheSameOnAnyNumberOfRanks) {
  nn::ActorCritic network = make_network(GetParam());
  const auto all = world(), one = alone();
  for (const std::int64_t episodes : {1, 16, 40, 70}) {
    SCOPED_TRACE(episodes);
    const EvaluationResult shared = evaluate(*all, greedy(network), GetParam(), episodes, seed);
    expect_same(shared, evaluate(*one, greedy(network), GetParam(), episodes, seed));
    EXPECT_EQ(shared.episodes, episodes);
    EXPECT_LE(shared.return_min, shared.return_mean);
    EXPECT_LE(shared.return_mean, shared.return_max);
  }
}

// One episode by itself: the observation in all 16 rows, the first row's action.
double play(nn::ActorCritic& network, const std::string& name, std::uint32_t episode) {
  const auto environment = envs::make_environment(name);
  const envs::EnvironmentSpec& spec = environment->spec();
  RandomStream stream(seed, StreamId::evaluation, episode);
  environment->reset(stream);
  std::vector<float> observation(spec.observation_size);
  double sum = 0;
  for (std::int64_t t = 0; t < spec.time_limit; ++t) {
    environment->observe(observation);
    const at::Tensor rows = at::tensor(observation).expand({16, spec.observation_size}).contiguous();
    envs::ActionRows actions(spec, nn::mode(network.policy(rows)), 16);
    const envs::StepResult step = environment->step(actions.row(0));
    sum += step.reward;
    if (step.terminated) break;
  }
  return sum;
}

TEST_P(Evaluation, PlaysEveryEpisodeToItsEnd) {
  nn::ActorCritic network = make_network(GetParam());
  std::vector<double> returns;
  for (std::uint32_t i = 0; i < 20; ++i) returns.push_back(play(network, GetParam(), i));
  const double mean = std::accumulate(returns.begin(), returns.end(), 0.0) / 20;
  double variance = 0;
  for (const double number : returns) variance += (number - mean) * (number - mean) / 20;

  const EvaluationResult result = evaluate(*world(), greedy(network), GetParam(), 20, seed);
  const double slack = 1e-12 * (1 + std::abs(mean));
  EXPECT_NEAR(result.return_mean, mean, slack);
  EXPECT_NEAR(result.return_std, std::sqrt(variance), 1e-9 * (1 + std::sqrt(variance)));
  EXPECT_EQ(result.return_min, *std::min_element(returns.begin(), returns.end()));
  EXPECT_EQ(result.return_max, *std::max_element(returns.begin(), returns.end()));
}

TEST(EvaluationSeed, ChangesTheEpisodes) {
  nn::ActorCritic network = make_network("Pendulum-v1");
  const auto all = world();
  EXPECT_NE(evaluate(*all, greedy(network), "Pendulum-v1", 16, 1).return_mean,
            evaluate(*all, greedy(network), "Pendulum-v1", 16, 2).return_mean);
}

TEST(EvaluationStop, OnOneRankAbandonsOnAll) {
  nn::ActorCritic network = make_network("Pendulum-v1");
  const auto all = world();
  int asked = 0;
  const bool chosen = all->rank() == 0;
  const auto stop = [&] { return chosen && ++asked == 10; };
  EXPECT_TRUE(evaluate(*all, greedy(network), "Pendulum-v1", 64, seed, stop).abandoned);
  EXPECT_EQ(asked, chosen ? 10 : 0);
  EXPECT_FALSE(evaluate(*all, greedy(network), "Pendulum-v1", 4, seed, [] { return false; }).abandoned);
}

TEST(EvaluationContract, NeedsAnEpisodeAndAKnownEnvironment) {
  nn::ActorCritic network = make_network("CartPole-v1");
  const auto all = world();
  EXPECT_THROW(evaluate(*all, greedy(network), "CartPole-v1", 0, seed), ContractError);
  EXPECT_THROW(evaluate(*all, greedy(network), "CartPole-v9", 4, seed), InputError);
  EXPECT_THROW(evaluate(*all, greedy(network), "Pendulum-v1", 4, seed),
               ContractError);  // its observations are 3 wide
}

}  // namespace
}  // namespace lockstep::rollout
