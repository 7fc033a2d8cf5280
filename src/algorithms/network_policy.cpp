#include "network_policy.hpp"

namespace lockstep::algorithms {

NetworkPolicy::NetworkPolicy(std::string environment, std::shared_ptr<torch::nn::Module> module,
                             rollout::GreedyPolicy greedy)
    : environment_(std::move(environment)), module_(std::move(module)), greedy_(std::move(greedy)) {}

rollout::EvaluationResult NetworkPolicy::evaluate(comm::Collectives& collectives, std::int64_t episodes,
                                                  std::uint64_t seed, const std::function<bool()>& stop) {
  return rollout::evaluate(collectives, greedy_, environment_, episodes, seed, stop);
}

}  // namespace lockstep::algorithms
