#include "lockstep/rollout/priority_tree.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "lockstep/core/error.hpp"

namespace lockstep::rollout {
namespace {

constexpr double absent = std::numeric_limits<double>::quiet_NaN();
constexpr float no_leaf = std::numeric_limits<float>::infinity();

std::size_t place(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

PriorityTree::PriorityTree(std::int64_t capacity, const PriorityOptions& options)
    : capacity_(capacity), options_(options) {
  if (capacity < 1) throw ContractError(fmt::format("a priority tree needs rows, not {}", capacity));
  if (!(options.alpha >= 0 && options.alpha <= 1) || !(options.epsilon > 0)) {
    throw ContractError(fmt::format("priorities need alpha in [0, 1] and a positive epsilon, not {} and {}",
                                    options.alpha, options.epsilon));
  }
  width_ = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(capacity)));
  clear();
}

void PriorityTree::clear() {
  present_ = 0;
  largest_so_far_ = 0;
  priorities_.assign(place(capacity_), absent);
  sums_.assign(place(2 * width_), 0.0);
  minima_.assign(place(2 * width_), no_leaf);
  if (options_.largest_present) maxima_.assign(place(2 * width_), 0.0);
}

void PriorityTree::require_row(std::int64_t row) const {
  if (row < 0 || row >= capacity_) {
    throw ContractError(fmt::format("row {} is not in this priority tree of {} rows", row, capacity_));
  }
}

float PriorityTree::leaf_of(std::int64_t row, double priority) const {
  constexpr double least = std::numeric_limits<float>::min(), most = std::numeric_limits<float>::max();
  const double leaf = std::pow(priority + options_.epsilon, options_.alpha);
  if (!(priority >= 0 && std::isfinite(priority) && leaf <= most)) {
    throw NumericError(
        fmt::format("row {} was given the priority {}; it must be 0 or more, and finite as a "
                    "float32 once raised to alpha",
                    row, priority));
  }
  // A row that is present can be drawn, however small its priority.
  return static_cast<float>(std::max(leaf, least));
}

void PriorityTree::write(std::int64_t row, double priority) {
  const float leaf = leaf_of(row, priority);
  double& stored = priorities_[place(row)];
  if (std::isnan(stored)) ++present_;
  stored = priority;
  std::int64_t node = width_ + row;
  sums_[place(node)] = leaf;
  minima_[place(node)] = leaf;
  if (options_.largest_present) maxima_[place(node)] = priority;
  while (node > 1) {
    node /= 2;
    const std::size_t left = place(2 * node), right = left + 1;
    sums_[place(node)] = sums_[left] + sums_[right];
    minima_[place(node)] = std::min(minima_[left], minima_[right]);
    if (options_.largest_present) maxima_[place(node)] = std::max(maxima_[left], maxima_[right]);
  }
}

double PriorityTree::largest_priority() const noexcept {
  const double largest = options_.largest_present ? maxima_[1] : largest_so_far_;
  return largest > 0 ? largest : 1.0;
}

void PriorityTree::add(std::int64_t row) {
  require_row(row);
  write(row, largest_priority());
}

void PriorityTree::set(std::int64_t row, double priority) {
  require_row(row);
  if (std::isnan(priorities_[place(row)])) {
    throw ContractError(fmt::format("row {} has no priority to change; add it first", row));
  }
  write(row, priority);
  largest_so_far_ = std::max(largest_so_far_, priority);
}

void PriorityTree::set(std::span<const std::int64_t> rows, std::span<const double> priorities) {
  if (rows.size() != priorities.size()) {
    throw ContractError(fmt::format("{} rows were given {} priorities", rows.size(), priorities.size()));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) set(rows[i], priorities[i]);
}

double PriorityTree::sum() const noexcept {
  return sums_[1];
}

float PriorityTree::leaf(std::int64_t row) const {
  require_row(row);
  return static_cast<float>(sums_[place(width_ + row)]);
}

PriorityBounds PriorityTree::bounds() const noexcept {
  return {sum(), present_ > 0 ? static_cast<double>(minima_[1]) : 0.0};
}

std::int64_t PriorityTree::row_at(double mass) const {
  if (present_ == 0) throw ContractError("no row can be drawn from an empty priority tree");
  if (!(mass >= 0 && mass <= sum())) {
    throw ContractError(fmt::format("the mass {} is not in [0, {}], the tree's sum", mass, sum()));
  }
  std::int64_t node = 1;
  while (node < width_) {
    const double left = sums_[place(2 * node)], right = sums_[place(2 * node + 1)];
    // A side without rows has the sum 0 and is never entered, whatever rounding left of the mass.
    const bool go_left = left > 0 && (mass <= left || right == 0);
    if (!go_left) mass -= left;
    node = 2 * node + (go_left ? 0 : 1);
  }
  return node - width_;
}

float PriorityTree::weight(std::int64_t row, double beta) const {
  return static_cast<float>(std::pow(leaf(row) / bounds().smallest, -beta));
}

float PriorityTree::weight(std::int64_t row, double beta, double smallest_share) const {
  return static_cast<float>(std::pow(leaf(row) / sum() / smallest_share, -beta));
}

void PriorityTree::restore(std::span<const double> priorities, double largest_so_far) {
  if (priorities.size() != priorities_.size()) {
    throw ContractError(fmt::format("a priority tree of {} rows cannot take the state of one of {}",
                                    priorities_.size(), priorities.size()));
  }
  clear();
  for (std::int64_t row = 0; row < capacity_; ++row) {
    if (!std::isnan(priorities[place(row)])) write(row, priorities[place(row)]);
  }
  largest_so_far_ = largest_so_far;
}

}  // namespace lockstep::rollout
