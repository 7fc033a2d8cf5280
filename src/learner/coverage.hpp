// A parameter that the loss differentiates but no group holds would silently never be trained.
#pragma once

#include <vector>

#include "lockstep/learner/parameter_group.hpp"
#include "lockstep/losses/loss.hpp"

namespace lockstep::learner {

class Coverage {
 public:
  Coverage() = default;
  Coverage(losses::Loss& loss, const std::vector<ParameterGroup>& groups);
  // After a backward: drops the gradients of parameters that no group holds. ContractError naming up to five
  // of them and the mend when there was any.
  void check() const;

 private:
  std::vector<NamedTensor> unowned_;
};

}  // namespace lockstep::learner
