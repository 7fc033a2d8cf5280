#include "held_parameters.hpp"

namespace lockstep::losses {

HeldParameters::HeldParameters(const torch::nn::Module& module) {
  for (const at::Tensor& parameter : module.parameters()) {
    if (parameter.requires_grad()) held_.push_back(parameter);
  }
  for (const at::Tensor& parameter : held_) parameter.set_requires_grad(false);
}

HeldParameters::~HeldParameters() {
  for (const at::Tensor& parameter : held_) parameter.set_requires_grad(true);
}

}  // namespace lockstep::losses
