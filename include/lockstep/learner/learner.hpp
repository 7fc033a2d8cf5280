// The Learner: a model to publish, a loss, a stepper that trains. The same code on one rank and on many.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/data/batch.hpp"
#include "lockstep/data/state_view.hpp"
#include "lockstep/learner/flat_store.hpp"
#include "lockstep/learner/optimization_stepper.hpp"
#include "lockstep/losses/loss.hpp"

namespace lockstep::learner {

struct LearnerOptions {
  std::int64_t shards = 1;  // of the global batch; a multiple of the ranks
  StoreOptions store{};
};

struct Capabilities {
  bool sharded = false;
  bool remote = false;
};

// Live state of a module under the checkpoint's names, model/<name>: parameters and buffers, tied ones once.
// ContractError when one is not contiguous.
StateView model_state(torch::nn::Module& module);

class Learner {
 public:
  // Collective. `model` is what is published; its parameters and the loss's are what the stepper's groups may
  // hold. ContractError when shards do not divide, the reduction cannot be exact, or the model has running
  // statistics.
  Learner(std::shared_ptr<torch::nn::Module> model, std::shared_ptr<losses::Loss> loss,
          std::shared_ptr<OptimizationStepper> stepper, comm::Collectives& collectives,
          const LearnerOptions& options);
  ~Learner();

  // Collective. `batch` has one Batch for each shard this rank owns, ascending.
  StepResult update(const ShardedBatch& batch, Votes votes = {});
  // Collective. The loss's metrics over the batch; nothing is trained.
  losses::Metrics compute_loss(const ShardedBatch& batch);
  // Collective. Independent full tensors of the model: on rank 0 (elsewhere empty), or on every rank.
  std::map<std::string, at::Tensor> get_weights(bool cpu_offload = true);
  Capabilities capabilities() const noexcept;

  // Shards that this rank owns: [first_shard, first_shard + own_shards).
  std::int64_t first_shard() const noexcept;
  std::int64_t own_shards() const noexcept;
  const FlatStore& store() const noexcept;
  OptimizationStepper& stepper() noexcept;

  // Live state under the checkpoint's names: model/, training/loss/, training/optimizer/, training/counters/.
  StateView state();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::learner
