#include "lockstep/nn/hand_node.hpp"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

#include "lockstep/core/error.hpp"

namespace lockstep::nn {

torch::autograd::variable_list HandNode::apply(torch::autograd::variable_list&& gradients) {
  if (at::GradMode::is_enabled()) {
    throw ContractError(name() + " has no second derivative; call backward without create_graph");
  }
  if (released_) {
    throw ContractError(name() + " was already used by a backward; pass retain_graph to the first one");
  }
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  return backward(gradients);
}

void HandNode::release_variables() {
  released_ = true;
  release();
}

}  // namespace lockstep::nn
