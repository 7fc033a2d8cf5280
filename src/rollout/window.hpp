// The tensors of one shard's rollout, time-major, filled a step at a time.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "lockstep/data/batch.hpp"
#include "lockstep/envs/vector_environment.hpp"

namespace lockstep::rollout {

// What the policy said about one observation of all environments.
struct Decision {
  at::Tensor action, log_prob, value;  // [n] or [n, a], [n], [n]
};

// T steps of n environments. Rows are t * n + e.
class Window {
 public:
  Window(const envs::EnvironmentSpec& spec, std::int64_t steps, std::int64_t environments);

  // Call in the order of a step, for t = 0 .. T-1: what was seen and decided, then what came of it.
  void put_decision(std::int64_t t, const at::Tensor& observation, const Decision& decision);
  void put_step(std::int64_t t, const envs::VectorStep& step);
  // V of step t's next observation, where that is not the observation of step t + 1: at done rows, and all
  // rows of the last step.
  void put_next_value(std::int64_t t, const at::Tensor& value);
  void poison_reward();

  // Advantages by GAE, and everything as one Batch. Call once, when all steps are in.
  Batch finish(double gamma, double lambda);

 private:
  void fill_next_values();
  at::Tensor by_step(const at::Tensor& rows) const;  // [T * n] as [T, n]

  std::int64_t steps_, environments_;
  at::Tensor observation_, next_observation_, action_, log_prob_, reward_, terminated_, truncated_, value_,
      next_value_;
};

}  // namespace lockstep::rollout
