// The order in which a rank combines the gradients of its leaves: a binary counter of partial sums that
// follows the reduction tree (core/reduction_tree.hpp) and keeps log2(leaves) of them at most.
#pragma once

#include <cstddef>

namespace lockstep::learner {

class LeafTree {
 public:
  // A rank that owns `own` of `total` leaves. ContractError unless tree_splits(total, total / own).
  LeafTree(std::size_t total, std::size_t own);

  // What happens to the gradient of own leaf i: it is written to `slot`, or added to what is there; then
  // `merges` times slot s is added to slot s - 1, starting with s = slot. All leaves done, the sum is in slot
  // 0.
  struct Step {
    std::size_t slot = 0;
    bool add = false;
    std::size_t merges = 0;
  };
  Step step(std::size_t leaf) const noexcept;

  std::size_t leaves() const noexcept { return own_; }
  std::size_t slots() const noexcept { return slots_; }  // partial sums alive at once

 private:
  std::size_t own_;
  std::size_t block_;  // leaves combined by the binary part
  std::size_t slots_;
};

}  // namespace lockstep::learner
