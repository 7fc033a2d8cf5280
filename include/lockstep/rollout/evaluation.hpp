// Greedy evaluation: episodes in chunks of a fixed number of rows, chunk c on rank c mod ranks, so that the
// result is the same bits on any number of ranks.
#pragma once

#include <functional>
#include <string>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/nn/actor_critic.hpp"

namespace lockstep::rollout {

struct EvaluationResult {
  double return_mean = 0, return_std = 0, return_min = 0, return_max = 0;  // population deviation
  std::int64_t episodes = 0;
  bool abandoned = false;  // `stop` said so on some rank; nothing else is meaningful
};

// Collective. Episode i starts from (seed; evaluation, shard = i). `stop` is asked at every step of a chunk
// on the rank that runs it, and agreed after it. ContractError unless episodes > 0 and the network fits the
// environment.
EvaluationResult evaluate(comm::Collectives& collectives, nn::ActorCritic& network,
                          const std::string& environment, std::int64_t episodes, std::uint64_t seed,
                          const std::function<bool()>& stop = {});

}  // namespace lockstep::rollout
