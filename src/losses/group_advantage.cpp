#include "lockstep/losses/group_advantage.hpp"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "lockstep/core/error.hpp"

namespace lockstep::losses {
namespace {

void require_groups(const at::Tensor& reward, std::int64_t group_size) {
  if (reward.dim() != 1 || !reward.is_floating_point()) {
    throw ContractError(c10::str("rewards must be floating of shape [completions], not ",
                                 reward.scalar_type(), " of shape ", reward.sizes()));
  }
  if (group_size < 2 || reward.size(0) % group_size != 0) {
    throw ContractError(c10::str("a group needs two completions or more, and ", reward.size(0),
                                 " completions a whole number of groups; group_size is ", group_size));
  }
}

// What a group's graded rewards have in common.
struct Group {
  double count = 0, mean = 0, deviation = 0;
  bool equal = true;
};

Group describe(std::span<const double> rewards) {
  Group group;
  double first = 0, sum = 0;
  for (const double reward : rewards) {
    if (!std::isfinite(reward)) continue;
    if (group.count == 0) first = reward;
    group.equal = group.equal && reward == first;
    group.count += 1;
    sum += reward;
  }
  if (group.equal) return group;
  group.mean = sum / group.count;
  double squares = 0;
  for (const double reward : rewards) {
    if (std::isfinite(reward)) squares += (reward - group.mean) * (reward - group.mean);
  }
  group.deviation = std::sqrt(squares / (group.count - 1));
  return group;
}

}  // namespace

GroupAdvantages group_advantages(const at::Tensor& reward, std::int64_t group_size,
                                 const GroupAdvantageOptions& options) {
  require_groups(reward, group_size);
  const at::Tensor rewards = reward.detach().to(at::kCPU, at::kDouble).contiguous();
  const std::int64_t groups = reward.size(0) / group_size;
  const at::Tensor advantages = at::zeros_like(rewards);
  GroupAdvantages result{{}, at::empty({groups}, at::kBool), {}, 0.0};
  std::int64_t equal = 0;
  double* out = advantages.data_ptr<double>();
  const double* in = rewards.const_data_ptr<double>();
  for (std::int64_t g = 0; g < groups; ++g, in += group_size, out += group_size) {
    const Group group = describe({in, static_cast<std::size_t>(group_size)});
    result.equal.data_ptr<bool>()[g] = group.equal;
    equal += group.equal ? 1 : 0;
    if (group.equal) continue;
    const double divisor = options.divide_by_deviation ? std::max(group.deviation, options.epsilon) : 1.0;
    for (std::int64_t i = 0; i < group_size; ++i) {
      if (std::isfinite(in[i])) out[i] = (in[i] - group.mean) / divisor;
    }
  }
  if (groups > 0) result.equal_fraction = static_cast<double>(equal) / static_cast<double>(groups);
  result.kept = rewards.isfinite().logical_and(result.equal.logical_not().repeat_interleave(group_size));
  result.advantage = advantages.to(reward.options());
  return result;
}

}  // namespace lockstep::losses
