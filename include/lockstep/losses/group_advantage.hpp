// Advantages of completions relative to the others of their prompt.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lockstep::losses {

struct GroupAdvantageOptions {
  bool divide_by_deviation = true;  // false: Dr.GRPO
  double epsilon = 1e-6;            // the least the deviation counts as
};

struct GroupAdvantages {
  at::Tensor advantage;  // [completions], reward's dtype; 0 where the reward is not finite
  at::Tensor equal;      // [groups] bool: all of its rewards are equal (or fewer than two are finite), so its
                         // advantages are 0
  at::Tensor kept;  // [completions] bool: graded, and of a group that is not equal. With these rows alone
                    // left in a batch's mask, equal groups are dropped as in DAPO
  double equal_fraction = 0;  // of the groups; to be logged, never dropped in silence
};

// A = r - mean of the group, divided by max(sample deviation (n - 1), epsilon) or not. reward
// [completions], floating; completion c belongs to group c / group_size. A reward that is not finite marks a
// completion that could not be graded: it has no part in its group's mean and deviation. ContractError unless
// group_size >= 2 divides the completions.
GroupAdvantages group_advantages(const at::Tensor& reward, std::int64_t group_size,
                                 const GroupAdvantageOptions& options);

}  // namespace lockstep::losses
