// Proportional prioritized sampling of one shard's rows (Schaul et al., "Prioritized Experience Replay",
// 2016).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::rollout {

struct PriorityOptions {
  double alpha = 0.6;  // row i is drawn in proportion to (p_i + epsilon)^alpha
  double epsilon = 1e-8;
  // A new row's priority: the largest ever set, or (true) the largest of the rows present; 1 while that is 0.
  bool largest_present = false;
};

// Of one shard: what its weights are relative to.
struct PriorityBounds {
  double sum = 0;
  double smallest = 0;  // of the rows present; 0 without rows
};

// Leaves are float32, (p + epsilon)^alpha; sums and minima are kept in float64 in two binary trees, so that
// setting a row and drawing one cost log2(capacity). A node's sum is always left + right, so the same leaves
// give the same bits whatever order they were set in. Row numbers are 0 <= i < capacity.
class PriorityTree {
 public:
  // ContractError unless capacity > 0, alpha in [0, 1] and epsilon > 0.
  PriorityTree(std::int64_t capacity, const PriorityOptions& options);

  std::int64_t capacity() const noexcept { return capacity_; }
  std::int64_t present() const noexcept { return present_; }  // rows that have a priority

  // A row was written, for the first time or over an older one: it gets `largest_priority`.
  void add(std::int64_t row);
  // NumericError naming row and value unless the priority is >= 0 and its leaf finite; ContractError for a
  // row that was never added.
  void set(std::int64_t row, double priority);
  // Row priorities together, in order: the last one of a row named twice holds.
  void set(std::span<const std::int64_t> rows, std::span<const double> priorities);

  double sum() const noexcept;               // of all leaves
  float leaf(std::int64_t row) const;        // (p + epsilon)^alpha, 0 for a row not present
  double largest_priority() const noexcept;  // what the next new row gets
  PriorityBounds bounds() const noexcept;

  // The smallest row whose prefix sum (its own leaf included) is >= mass; mass in [0, sum]. Never a row that
  // is not present. ContractError in an empty tree.
  std::int64_t row_at(double mass) const;
  // Of a row present: (leaf / smallest)^-beta, in (0, 1]. With a tree a shard the row's share of its shard is
  // what counts: ((leaf / sum) / smallest_share)^-beta, smallest_share the least of all shards'
  // `smallest / sum`; for one shard that is the same number but for rounding.
  float weight(std::int64_t row, double beta) const;
  float weight(std::int64_t row, double beta, double smallest_share) const;

  // The whole state besides options: the leaves' priorities (capacity, NaN for a row not present) and the
  // largest so far; restoring them gives the same bits in every later call.
  std::span<const double> priorities() const noexcept { return priorities_; }
  double largest_so_far() const noexcept { return largest_so_far_; }
  void restore(std::span<const double> priorities, double largest_so_far);

 private:
  void clear();
  void require_row(std::int64_t row) const;
  float leaf_of(std::int64_t row, double priority) const;
  void write(std::int64_t row, double priority);

  std::int64_t capacity_, width_;  // width_: leaves, the power of two that holds capacity
  PriorityOptions options_;
  std::int64_t present_ = 0;
  double largest_so_far_ = 0;
  std::vector<double> priorities_;
  // Heap order: node i has children 2i and 2i + 1, row r is node width_ + r.
  std::vector<double> sums_;    // of leaves
  std::vector<float> minima_;   // of the leaves of rows present
  std::vector<double> maxima_;  // of priorities; empty unless options ask for the largest present
};

}  // namespace lockstep::rollout
