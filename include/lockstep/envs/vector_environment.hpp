// The environments of one shard, stepped together. A finished one is reset in the same step; its last
// observation is kept.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/data/state_view.hpp"
#include "lockstep/envs/environment.hpp"

namespace lockstep::envs {

// What one step of all environments gave. n = count(). The tensors are the VectorEnvironment's own, written
// over by its next step: copy what is to be kept.
struct VectorStep {
  at::Tensor reward;            // [n] float32
  at::Tensor terminated;        // [n] bool
  at::Tensor truncated;         // [n] bool: the time limit, and not terminated
  at::Tensor next_observation;  // [n, o] float32: before any reset
  std::vector<double> returns;  // of the episodes that ended in this step, by environment index
  bool any_done = false;
};

class VectorEnvironment {
 public:
  // All environments are reset at once. Draws come from (seed; stream, shard). ContractError unless count >
  // 0.
  VectorEnvironment(std::string_view name, std::int64_t count, std::uint64_t seed, std::uint32_t shard,
                    StreamId stream = StreamId::environment_reset);
  const EnvironmentSpec& spec() const noexcept;
  std::int64_t count() const noexcept;
  const at::Tensor& observation()
      const noexcept;  // [n, o] float32, current (after resets); owned, overwritten by step
  // action [n] int64 or [n, a] float32, on the CPU; ContractError otherwise, and on what Environment::step
  // refuses.
  const VectorStep& step(const at::Tensor& action);

  // Everything the next step depends on, to save in place and restore: call `pack` before the view's data are
  // read, `unpack` after they are written. Entries "<prefix>state" [S*n, state_size], "<prefix>elapsed"
  // [S*n],
  // "<prefix>episode_return" [S*n], "<prefix>draw" [S], of which this shard (number `shard` of `shards`)
  // holds its rows.
  StateView state(const std::string& prefix, std::int64_t shard, std::int64_t shards);
  void pack();
  void unpack();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lockstep::envs
