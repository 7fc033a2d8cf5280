// A learner of the rich model with two groups: the model, clipped by the common norm, and the loss's own
// temperatures, clipped by theirs, which step every second time.
#pragma once

#include <gtest/gtest.h>

#include "learner/rich_model.hpp"
#include "lockstep/learner/learner.hpp"

namespace lockstep::test {

using learner::Sharding;

struct Setup {
  Sharding sharding = Sharding::none;
  std::int64_t accumulation = 1;
  std::int64_t shards = 8;
  std::int64_t hash_every = 0;
  std::int64_t replicas = 1;
};

struct Trainee {
  std::shared_ptr<Rich> net = std::make_shared<Rich>();
  std::shared_ptr<RichLoss> loss = std::make_shared<RichLoss>(net);
  std::shared_ptr<learner::OptimizationStepper> stepper;
  std::unique_ptr<learner::Learner> learner;
  std::vector<losses::Metrics> metrics;
  Setup setup;

  Trainee(comm::Collectives& collectives, const Setup& chosen) : setup(chosen) {
    learner::ParameterGroup main{.parameters = learner::trainable_parameters(*net),
                                 .options = {.learning_rate = 0.01}};
    learner::ParameterGroup cooling{
        .parameters = {{"temperature", loss->state->temperature}},
        .options = {.kind = learner::OptimizerKind::sgd, .learning_rate = 0.1, .momentum = 0.9},
        .name = "temperature",
        .clip_norm = 0.05,
        .every = 2,
        .loss = "loss_temperature"};
    stepper = std::make_shared<learner::OptimizationStepper>(
        std::vector<learner::ParameterGroup>{main, cooling},
        learner::StepperOptions{.accumulation = setup.accumulation, .clip_norm = 0.5});
    learner = std::make_unique<learner::Learner>(
        net, loss, stepper, collectives,
        learner::LearnerOptions{.shards = setup.shards,
                                .store = {.sharding = setup.sharding, .replicas = setup.replicas},
                                .seed = 5,
                                .hash_every = setup.hash_every});
  }

  std::int64_t shard(std::int64_t own) const {
    return learner->first_shard() + own * learner->shard_stride();
  }
  ShardedBatch batch(std::int64_t step) const {
    ShardedBatch batch;
    for (std::int64_t own = 0; own < learner->own_shards(); ++own)
      batch.push_back(test::regression_shard(step, shard(own), 6 + shard(own) % 2));
    return batch;
  }
  void update(std::int64_t first, std::int64_t last) {
    for (std::int64_t step = first; step < last; ++step)
      metrics.push_back(learner->update(batch(step)).metrics);
  }
  void accumulate(std::int64_t first, std::int64_t last) {
    for (std::int64_t call = first; call < last; ++call)
      metrics.push_back(learner->accumulate(batch(call)).metrics);
  }
};

inline void expect_same(const StateMap& a, const StateMap& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) EXPECT_TRUE(at::equal(tensor, b.at(name))) << name;
}

}  // namespace lockstep::test
