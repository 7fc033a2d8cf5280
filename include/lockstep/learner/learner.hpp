// The Learner: a model to publish, a loss, a stepper that trains. The same code on one rank and on many.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/data/batch.hpp"
#include "lockstep/data/state_map.hpp"
#include "lockstep/data/state_view.hpp"
#include "lockstep/learner/flat_store.hpp"
#include "lockstep/learner/optimization_stepper.hpp"
#include "lockstep/losses/loss.hpp"

namespace lockstep::learner {

struct LearnerOptions {
  std::int64_t shards = 1;  // of the global batch; a multiple of the ranks
  StoreOptions store{};
  std::uint64_t seed = 0;  // of the noise that a loss asks for
  // Real steps after which the state is hashed, to be compared before the next; 0: never.
  std::int64_t hash_every = 0;
};

struct Capabilities {
  bool sharded = false;
  bool remote = false;
};

// Live state of a module that no learner shards, under the checkpoint's names, model/<name>: parameters and
// buffers, tied ones once. ContractError when one is not contiguous.
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

  // Collective. One optimizer step. `batch` has one Batch for each shard this rank owns, ascending. Noise
  // that the loss needs and a Batch lacks is drawn from (seed; noise, shard).
  // NumericError naming the ranks where hash_every finds a flipped bit.
  StepResult update(const ShardedBatch& batch, Votes votes = {});
  // Collective. For callers who cannot hold the batch: one micro-batch of every shard; the call that
  // completes the stepper's `accumulation` of them steps. A call that throws drops the window.
  StepResult accumulate(const ShardedBatch& micro_batch, Votes votes = {});
  // Collective. The loss's metrics over the batch; nothing is trained.
  losses::Metrics compute_loss(const ShardedBatch& batch);
  // Collective. Independent full tensors of the model: on rank 0 (elsewhere empty), or on every rank.
  StateMap get_weights(bool cpu_offload = true);
  // Collective. An independent snapshot of all that the next step depends on, as full tensors on rank 0
  // (empty elsewhere). ContractError while a window of `accumulate` is open.
  StateMap checkpoint();
  // Collective. Rank 0's map is what counts. Names, shapes and dtypes are checked before anything is touched
  // (InputError on all ranks). A parameter whose optimizer state the map lacks wholly starts with none.
  void load_checkpoint(const StateMap& checkpoint);
  Capabilities capabilities() const noexcept;

  // Collective. While what it returns lives, the parameters are whole on every rank, for readers other than
  // the learner (a source that collects, an evaluation); no step may begin meanwhile. Free of cost unless
  // parameters are sharded. It may not outlive the learner.
  [[nodiscard]] std::shared_ptr<void> lend_weights();

  // Shards that this rank owns: first_shard, first_shard + shard_stride, ..., own_shards of them. The stride
  // is 1, or the ranks where parameters are sharded.
  std::int64_t first_shard() const noexcept;
  std::int64_t shard_stride() const noexcept;
  std::int64_t own_shards() const noexcept;
  const Store& store() const noexcept;
  OptimizationStepper& stepper() noexcept;

  // Live state under the checkpoint's names: model/, training/loss/, training/optimizer/, training/counters/.
  // ContractError while a window of `accumulate` is open.
  StateView state();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::learner
