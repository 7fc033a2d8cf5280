// The policy of a network and a function that acts greedily with it.
#pragma once

#include <memory>
#include <string>

#include "lockstep/algorithms/algorithm.hpp"
#include "lockstep/rollout/evaluation.hpp"

namespace lockstep::algorithms {

class NetworkPolicy : public Policy {
 public:
  NetworkPolicy(std::string environment, std::shared_ptr<torch::nn::Module> module,
                rollout::GreedyPolicy greedy);
  torch::nn::Module& module() override { return *module_; }
  rollout::EvaluationResult evaluate(comm::Collectives& collectives, std::int64_t episodes,
                                     std::uint64_t seed, const std::function<bool()>& stop) override;

 private:
  std::string environment_;
  std::shared_ptr<torch::nn::Module> module_;
  rollout::GreedyPolicy greedy_;
};

}  // namespace lockstep::algorithms
