// What a stepper refuses at construction, by ContractError.
#pragma once

#include <vector>

#include "lockstep/learner/optimization_stepper.hpp"

namespace lockstep::learner {

// A number out of range.
void check_options(const StepperOptions& options);
// Nothing to train, a tensor in two places, two groups of one name, a setting out of range.
void check_groups(const std::vector<ParameterGroup>& groups);

}  // namespace lockstep::learner
