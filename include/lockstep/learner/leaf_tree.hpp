// The order in which a rank combines the gradients of its leaves: partial sums that follow the reduction tree
// (core/reduction_tree.hpp). Worked out once, for leaves that arrive in any fixed order.
#pragma once

#include <cstddef>
#include <vector>

namespace lockstep::learner {

class LeafTree {
 public:
  // What happens to the gradient of an arriving leaf: it is written to `slot`, or added to what is there;
  // then each merge adds slot `from` to slot `into`, in order. All leaves done, the sum is in slot 0. Which
  // operand comes first does not matter: a + b and b + a are the same bits.
  struct Merge {
    std::size_t from = 0, into = 0;
  };
  struct Step {
    std::size_t slot = 0;
    bool add = false;
    std::vector<Merge> merges{};
  };

  // A rank that owns `own` of `total` leaves, which arrive in ascending order: log2(own) slots. ContractError
  // unless tree_splits(total, total / own).
  LeafTree(std::size_t total, std::size_t own);
  // The same, own leaf order[i] arriving as number i. ContractError unless `order` is a permutation.
  LeafTree(std::size_t total, std::size_t own, const std::vector<std::size_t>& order);

  const Step& step(std::size_t arrival) const { return steps_.at(arrival); }
  std::size_t leaves() const noexcept { return steps_.size(); }
  std::size_t slots() const noexcept { return slots_; }  // partial sums alive at once

 private:
  std::vector<Step> steps_;
  std::size_t slots_ = 1;
};

}  // namespace lockstep::learner
