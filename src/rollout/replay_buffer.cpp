#include "lockstep/rollout/replay_buffer.hpp"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "lockstep/core/error.hpp"
#include "lockstep/data/tensor_dtype.hpp"
#include "shard_state.hpp"

namespace lockstep::rollout {
namespace {

void check_options(std::int64_t capacity, double alpha) {
  if (capacity < 1) throw ContractError(fmt::format("replay capacity = {}; it must be at least 1", capacity));
  if (!(alpha >= 0 && alpha <= 1))
    throw ContractError(fmt::format("replay alpha = {}; it must be in [0, 1]", alpha));
}

void check_column(std::string_view name, const at::Tensor& column, const at::Tensor& given,
                  std::int64_t rows) {
  const bool fits = given.dim() == column.dim() && given.size(0) == rows &&
                    given.sizes().slice(1) == column.sizes().slice(1) &&
                    given.scalar_type() == column.scalar_type() && given.is_cpu();
  if (fits) return;
  throw ContractError(
      fmt::format("replay takes {} as {} rows [{}] of {} on the CPU; it was given {} [{}] on {}", name, rows,
                  fmt::join(column.sizes().slice(1), ", "), c10::toString(column.scalar_type()),
                  c10::toString(given.scalar_type()), fmt::join(given.sizes(), ", "), given.device().str()));
}

// Plain copies of bytes: an operation on tensors would cost more than the environment's step.
void copy_rows(const at::Tensor& column, std::int64_t first, const at::Tensor& given) {
  const at::Tensor source = given.contiguous();
  const std::int64_t capacity = column.size(0);
  const std::size_t row_bytes = column.nbytes() / static_cast<std::size_t>(capacity);
  auto* to = static_cast<std::byte*>(column.mutable_data_ptr());
  const auto* from = static_cast<const std::byte*>(source.const_data_ptr());
  for (std::int64_t row = 0; row < source.size(0); ++row)
    std::memcpy(to + (first + row) % capacity * row_bytes, from + row * row_bytes, row_bytes);
}

}  // namespace

// Zeros, not empty memory: rows not yet written are saved too, and must be the same bits every time.
ReplayBuffer::ReplayBuffer(const envs::EnvironmentSpec& spec, std::int64_t capacity, double alpha)
    : capacity_(capacity) {
  check_options(capacity, alpha);
  const at::Tensor observation = at::zeros({capacity, spec.observation_size}, at::kFloat);
  columns_ = {{key::observation, observation},
              {key::action, spec.action.discrete ? at::zeros({capacity}, at::kLong)
                                                 : at::zeros({capacity, spec.action.size}, at::kFloat)},
              {key::reward, at::zeros({capacity}, at::kFloat)},
              {key::next_observation, at::zeros_like(observation)},
              {key::terminated, at::zeros({capacity}, at::kBool)}};
  if (alpha > 0) {
    priorities_ = std::make_unique<PriorityTree>(capacity, PriorityOptions{.alpha = alpha});
    saved_priorities_.resize(static_cast<std::size_t>(capacity));
  }
}

void ReplayBuffer::add(const at::Tensor& observation, const at::Tensor& action,
                       const envs::VectorStep& step) {
  const std::array<const at::Tensor*, 5> given{&observation, &action, &step.reward, &step.next_observation,
                                               &step.terminated};
  const std::int64_t rows = observation.size(0);
  for (std::size_t i = 0; i < given.size(); ++i)
    check_column(columns_[i].name, columns_[i].rows, *given[i], rows);
  for (std::size_t i = 0; i < given.size(); ++i) copy_rows(columns_[i].rows, written_ % capacity_, *given[i]);
  if (prioritized())
    for (std::int64_t row = 0; row < rows; ++row) tree().add((written_ + row) % capacity_);
  written_ += rows;
}

at::Tensor ReplayBuffer::draw(std::int64_t count, RandomStream& stream) const {
  if (rows() == 0) throw ContractError("rows were drawn from an empty replay buffer");
  const at::Tensor index = at::empty({count}, at::kLong);
  auto* rows_drawn = index.mutable_data_ptr<std::int64_t>();
  const auto held = static_cast<std::uint64_t>(rows());
  for (std::int64_t i = 0; i < count; ++i)
    rows_drawn[i] = prioritized() ? priorities_->row_at(stream.uniform() * priorities_->sum())
                                  : static_cast<std::int64_t>(stream.below(held));
  return index;
}

Batch ReplayBuffer::rows_at(const at::Tensor& index) const {
  Batch batch;
  for (const Column& column : columns_) batch.add(column.name, column.rows.index_select(0, index));
  return batch;
}

PriorityTree& ReplayBuffer::tree() const {
  if (!prioritized()) throw ContractError("a uniform replay buffer (alpha = 0) has no priorities");
  return *priorities_;
}

double ReplayBuffer::smallest_share() const {
  const PriorityBounds bounds = tree().bounds();
  return bounds.smallest / bounds.sum;
}

at::Tensor ReplayBuffer::weights(const at::Tensor& index, double beta, double smallest_share) const {
  const at::Tensor weights = at::empty(index.sizes(), at::kFloat);
  auto* weight = weights.mutable_data_ptr<float>();
  const auto* row = index.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < index.numel(); ++i) weight[i] = tree().weight(row[i], beta, smallest_share);
  return weights;
}

void ReplayBuffer::set_priorities(const at::Tensor& index, const at::Tensor& priority) {
  const at::Tensor numbers = priority.to(at::kDouble).contiguous();
  const auto count = static_cast<std::size_t>(index.numel());
  if (numbers.sizes() != index.sizes())
    throw ContractError(fmt::format("{} priorities [{}] for {} rows", numbers.numel(),
                                    fmt::join(numbers.sizes(), ", "), index.numel()));
  tree().set(std::span(index.const_data_ptr<std::int64_t>(), count),
             std::span(numbers.const_data_ptr<double>(), count));
}

StateView ReplayBuffer::state(const std::string& prefix, std::int64_t shard, std::int64_t shards) {
  StateView view;
  for (const Column& column : columns_) {
    add_shard_rows(view, prefix + std::string(column.name), dtype_of(column.rows.scalar_type()), shard,
                   shards, capacity_, column.rows.sizes().slice(1).vec(), column.rows.mutable_data_ptr());
  }
  add_shard_number(view, prefix + "written", shard, shards, written_);
  if (!prioritized()) return view;
  add_shard_rows(view, prefix + "priority", Dtype::float64, shard, shards, capacity_, {},
                 saved_priorities_.data());
  add_shard_rows(view, prefix + "largest_priority", Dtype::float64, shard, shards, 1, {}, &saved_largest_);
  return view;
}

void ReplayBuffer::pack() {
  if (!prioritized()) return;
  const std::span<const double> priorities = tree().priorities();
  std::copy(priorities.begin(), priorities.end(), saved_priorities_.begin());
  saved_largest_ = tree().largest_so_far();
}

void ReplayBuffer::unpack() {
  if (prioritized()) tree().restore(saved_priorities_, saved_largest_);
}

std::int64_t replay_row_bytes(const envs::EnvironmentSpec& spec, double alpha) {
  const std::int64_t action = spec.action.discrete ? 8 : 4 * spec.action.size;
  const std::int64_t row = 2 * 4 * spec.observation_size + action + 4 + 1;
  return row + (alpha > 0 ? 8 : 0);
}

}  // namespace lockstep::rollout
