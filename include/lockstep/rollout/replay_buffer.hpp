// Replay of one shard: a ring of the newest rows, drawn uniformly or by priority.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/core/random.hpp"
#include "lockstep/data/batch.hpp"
#include "lockstep/data/state_view.hpp"
#include "lockstep/envs/vector_environment.hpp"
#include "lockstep/rollout/priority_tree.hpp"

namespace lockstep::rollout {

class ReplayBuffer {
 public:
  // `capacity` rows, of this shard. alpha = 0: uniform. ContractError unless capacity > 0 and alpha is in
  // [0, 1].
  ReplayBuffer(const envs::EnvironmentSpec& spec, std::int64_t capacity, double alpha);

  // One step of all the shard's environments, a row each in their order: what was seen [n, o] float32, what
  // was done ([n] int64 or [n, a] float32), what came of it. Each row takes the oldest one's place when the
  // ring is full. ContractError where shapes or dtypes do not fit.
  void add(const at::Tensor& observation, const at::Tensor& action, const envs::VectorStep& step);
  std::int64_t rows() const noexcept { return written_ < capacity_ ? written_ : capacity_; }
  std::int64_t capacity() const noexcept { return capacity_; }
  bool prioritized() const noexcept { return priorities_ != nullptr; }

  // `count` row numbers, int64 [count], with replacement: one draw a row. ContractError on an empty buffer.
  at::Tensor draw(std::int64_t count, RandomStream& stream) const;
  // observation, action, reward, next.observation, terminated of these rows: copies.
  Batch rows_at(const at::Tensor& index) const;

  // Prioritized buffers only (ContractError otherwise). The least share that a row has in the shard's sum;
  // the weights [n] float32 of rows drawn (PriorityTree::weight), `smallest_share` being that of all shards;
  // new priorities [n] of these rows, the last one of a row named twice.
  double smallest_share() const;
  at::Tensor weights(const at::Tensor& index, double beta, double smallest_share) const;
  void set_priorities(const at::Tensor& index, const at::Tensor& priority);

  // All of the above's state in place: "<prefix><column>" [S * capacity, ...] for each column, "written" [S],
  // and prioritized "priority" [S * capacity] and "largest_priority" [S]; this shard (number `shard` of
  // `shards`) holds its part. Call `pack` before the view's data are read, `unpack` after they are written.
  StateView state(const std::string& prefix, std::int64_t shard, std::int64_t shards);
  void pack();
  void unpack();

 private:
  struct Column {
    std::string_view name;
    at::Tensor rows;  // [capacity] or [capacity, width]
  };
  PriorityTree& tree() const;

  std::int64_t capacity_;
  std::int64_t written_ = 0;  // rows ever; the next one's place is written_ % capacity_
  std::vector<Column> columns_;
  std::unique_ptr<PriorityTree> priorities_;
  // What pack fills and unpack reads.
  std::vector<double> saved_priorities_;
  double saved_largest_ = 0;
};

// Bytes of a row, for estimates.
std::int64_t replay_row_bytes(const envs::EnvironmentSpec& spec, double alpha);

}  // namespace lockstep::rollout
