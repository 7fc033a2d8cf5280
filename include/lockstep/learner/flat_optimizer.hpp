// Optimizer state and the step over a rank's owned parts, by ATen's fused kernels.
#pragma once

#include <memory>
#include <vector>

#include "lockstep/data/state_view.hpp"
#include "lockstep/learner/parameter_group.hpp"
#include "lockstep/learner/store.hpp"

namespace lockstep::learner {

class FlatOptimizer {
 public:
  FlatOptimizer(const std::vector<ParameterGroup>& groups, Store& store);
  ~FlatOptimizer();

  // One step of a group from the gradients in the store. Local.
  void step(std::size_t group);
  void set_learning_rate(std::size_t group, double learning_rate);
  // "training/optimizer/<parameter>/exp_avg", "exp_avg_sq" ("momentum_buffer" for sgd) with this rank's
  // extents, and "step", a float32 scalar that a group's parameters share.
  StateView state();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::learner
