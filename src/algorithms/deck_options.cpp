#include "deck_options.hpp"

#include "lockstep/data/tensor_dtype.hpp"

namespace lockstep::algorithms {

learner::OptimizerOptions optimizer_options(const config::OptimizerSection& section) {
  return {.kind = learner::optimizer_kind_from(section.name),
          .learning_rate = section.learning_rate,
          .weight_decay = section.weight_decay,
          .beta1 = section.beta1,
          .beta2 = section.beta2,
          .epsilon = section.epsilon,
          .momentum = section.momentum};
}

learner::StepperOptions stepper_options(const config::LearnerSection& section) {
  return {.accumulation = section.accumulation,
          .clip_norm = section.clip_norm,
          .max_skips = section.max_skips,
          .precision = learner::precision_from(section.precision)};
}

learner::LearnerOptions learner_options(const config::Deck& deck) {
  const config::LearnerSection& section = deck.learner;
  return {.shards = section.shards,
          .store = {.sharding = learner::sharding_from(section.sharding),
                    .reduction = section.reduction == "fast" ? comm::Reduction::fast : comm::Reduction::exact,
                    .replicas = section.replicas},
          .seed = static_cast<std::uint64_t>(deck.run.seed),
          .hash_every = section.hash_every};
}

std::vector<learner::ParameterSpec> parameter_specs(const std::vector<learner::ParameterGroup>& groups) {
  std::vector<learner::ParameterSpec> specs;
  for (std::size_t group = 0; group < groups.size(); ++group)
    for (const learner::NamedTensor& parameter : groups[group].parameters)
      specs.push_back({.name = parameter.name,
                       .shape = parameter.tensor.sizes().vec(),
                       .dtype = dtype_of(parameter.tensor.scalar_type()),
                       .group = group});
  return specs;
}

}  // namespace lockstep::algorithms
