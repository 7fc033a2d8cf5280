// Batch: named tensors whose first dimension is rows. Scalars per row are [rows]; a shard's rollout is
// time-major, row t * environments + e. Each shard is a Batch of its own.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

// The entries' standard names, so that sources and losses agree.
namespace key {
inline constexpr std::string_view observation = "observation";  // [rows, o]
inline constexpr std::string_view next_observation =
    "next.observation";                                           // [rows, o], the real last one where done
inline constexpr std::string_view action = "action";              // [rows] int64 or [rows, a]
inline constexpr std::string_view reward = "reward";              // [rows]
inline constexpr std::string_view terminated = "terminated";      // [rows] bool
inline constexpr std::string_view truncated = "truncated";        // [rows] bool
inline constexpr std::string_view log_prob = "log_prob";          // [rows], under the sampling policy
inline constexpr std::string_view value = "value";                // [rows], V when collected
inline constexpr std::string_view next_value = "next.value";      // [rows], V of next.observation
inline constexpr std::string_view advantage = "advantage";        // [rows]
inline constexpr std::string_view value_target = "value_target";  // [rows]
inline constexpr std::string_view weight = "weight";              // [rows], of prioritized replay
// Standard normal noise [rows, a] of the next action and of the current one.
inline constexpr std::string_view noise_next = "noise_next";
inline constexpr std::string_view noise_current = "noise_current";
// Sequences: row = sequence, t places. `label` is the token that the model's logits at a place are for; at a
// place of `mask` it is a response token that counts.
inline constexpr std::string_view tokens = "tokens";                  // [rows, t] int64, what the model reads
inline constexpr std::string_view label = "label";                    // [rows, t] int64
inline constexpr std::string_view mask = "mask";                      // [rows, t] bool
inline constexpr std::string_view token_log_prob = "token_log_prob";  // [rows, t], under the sampling policy
inline constexpr std::string_view reference_log_prob =
    "reference_log_prob";  // [rows, t], under the reference model
}  // namespace key

class Batch {
 public:
  // Throws ContractError when the name is taken, or rows differ from the entries already there.
  void add(std::string_view name, at::Tensor tensor);
  void replace(std::string_view name, at::Tensor tensor);  // adds or overwrites
  const at::Tensor& at(std::string_view name) const;       // ContractError listing the names there are
  bool has(std::string_view name) const noexcept;
  std::int64_t rows() const noexcept;  // 0 when empty
  const std::vector<std::pair<std::string, at::Tensor>>& entries() const noexcept { return entries_; }

  Batch rows_at(const at::Tensor& index) const;             // index int64 [n]: a copy of those rows, in order
  Batch slice(std::int64_t begin, std::int64_t end) const;  // views of rows [begin, end)

 private:
  std::vector<std::pair<std::string, at::Tensor>> entries_;
};

// One optimizer step's batch on this rank: a Batch for each shard that this rank owns, ascending.
using ShardedBatch = std::vector<Batch>;

}  // namespace lockstep
