// Parameters that a part of a loss must not train.
#pragma once

#include <torch/nn/module.h>

#include <vector>

namespace lockstep::losses {

// While it lives the module's parameters ask for no gradient, so that what is computed through them has one
// by its inputs alone; afterwards those that asked for one do again.
class HeldParameters {
 public:
  explicit HeldParameters(const torch::nn::Module& module);
  ~HeldParameters();
  HeldParameters(const HeldParameters&) = delete;
  HeldParameters& operator=(const HeldParameters&) = delete;

 private:
  std::vector<at::Tensor> held_;
};

}  // namespace lockstep::losses
