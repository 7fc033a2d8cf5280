// Sections of the deck that every algorithm has, as the learner's options.
#pragma once

#include <vector>

#include "lockstep/config/deck.hpp"
#include "lockstep/learner/learner.hpp"

namespace lockstep::algorithms {

learner::OptimizerOptions optimizer_options(const config::OptimizerSection& section);
learner::StepperOptions stepper_options(const config::LearnerSection& section);
learner::LearnerOptions learner_options(const config::Deck& deck);

// Names, shapes, dtypes and groups of what is trained, for the sharding plan.
std::vector<learner::ParameterSpec> parameter_specs(const std::vector<learner::ParameterGroup>& groups);

}  // namespace lockstep::algorithms
