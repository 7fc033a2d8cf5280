// Greedy evaluation: episodes in chunks of a fixed number of rows, chunk c on rank c mod ranks, so that the
// result is the same bits on any number of ranks.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>

#include "lockstep/comm/collectives.hpp"

namespace lockstep::rollout {

// observation [rows, o] float32 -> the greedy actions, [rows] int64 or [rows, a] float32 in the environment's
// bounds. Called without gradients.
using GreedyPolicy = std::function<at::Tensor(const at::Tensor& observation)>;

struct EvaluationResult {
  double return_mean = 0, return_std = 0, return_min = 0, return_max = 0;  // population deviation
  std::int64_t episodes = 0;
  bool abandoned = false;  // `stop` said so on some rank; nothing else is meaningful
};

// Collective. Episode i starts from (seed; evaluation, shard = i). `stop` is asked at every step of a chunk
// on the rank that runs it, and agreed after it. ContractError unless episodes > 0 and the policy takes the
// environment's observations and gives its actions; every rank tries that, so that all say so.
EvaluationResult evaluate(comm::Collectives& collectives, const GreedyPolicy& policy,
                          const std::string& environment, std::int64_t episodes, std::uint64_t seed,
                          const std::function<bool()>& stop = {});

}  // namespace lockstep::rollout
