#include "lockstep/learner/learner.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "lockstep/core/error.hpp"
#include "lockstep/core/reduction_tree.hpp"
#include "lockstep/data/tensor_dtype.hpp"

namespace lockstep::learner {
namespace {

void check_shards(std::int64_t shards, const comm::Collectives& collectives, comm::Reduction reduction) {
  const std::int64_t ranks = collectives.size();
  if (shards < 1 || shards % ranks != 0)
    throw ContractError(fmt::format(
        "{} shards cannot be shared evenly by {} ranks; shards must be a multiple of ranks", shards, ranks));
  if (reduction == comm::Reduction::exact &&
      !tree_splits(static_cast<std::size_t>(shards), static_cast<std::size_t>(ranks)))
    throw ContractError(
        fmt::format("exact reduction needs shards / ranks to be a power of two, or one rank; {} / {} is not; "
                    "use other ranks, or reduction 'fast'",
                    shards, ranks));
}

// Running statistics are written in forward, once a leaf, so they would depend on how rows are cut.
void refuse_running_statistics(torch::nn::Module& module) {
  for (const auto& item : module.named_buffers())
    if (item.key().ends_with("running_mean") || item.key().ends_with("num_batches_tracked"))
      throw ContractError(fmt::format(
          "buffer '{}' is written in forward (batch normalisation), which depends on how rows are "
          "cut into leaves; use layer or RMS normalisation",
          item.key()));
}

// Frozen parameters and buffers are in no flat buffer: rank 0's values hold on every rank.
void equalize_untrained(const std::vector<NamedTensor>& tensors, comm::Collectives& collectives) {
  for (const NamedTensor& named : tensors)
    if (!named.tensor.requires_grad() && named.tensor.is_contiguous())
      collectives.broadcast({static_cast<std::byte*>(named.tensor.data_ptr()), named.tensor.nbytes()}, 0)
          .wait();
}

void add_tensors(StateView& view, const std::string& prefix, const std::vector<NamedTensor>& tensors) {
  for (const NamedTensor& named : tensors) {
    if (!named.tensor.is_contiguous())
      throw ContractError(
          fmt::format("tensor '{}' is not contiguous; make it so before it is trained or saved", named.name));
    view.add_whole(prefix + escape_name(named.name), dtype_of(named.tensor.scalar_type()),
                   named.tensor.sizes().vec(), named.tensor.data_ptr());
  }
}

}  // namespace

struct Learner::State {
  std::shared_ptr<torch::nn::Module> model;
  std::shared_ptr<losses::Loss> loss;
  std::shared_ptr<OptimizationStepper> stepper;
  comm::Collectives& collectives;
  LearnerOptions options;
  std::unique_ptr<FlatStore> store;

  LeafTree tree() const;
  std::vector<NamedTensor> loss_owned() const;
};

// Under `fast` no tree spans the ranks; each rank then combines its own leaves as if they were all.
LeafTree Learner::State::tree() const {
  const auto k = static_cast<std::size_t>(stepper->options().accumulation);
  const std::size_t own =
      static_cast<std::size_t>(options.shards) / static_cast<std::size_t>(collectives.size()) * k;
  const bool exact = options.store.reduction == comm::Reduction::exact;
  return LeafTree(exact ? static_cast<std::size_t>(options.shards) * k : own, own);
}

std::vector<NamedTensor> Learner::State::loss_owned() const {
  std::vector<NamedTensor> found = all_tensors(loss->module());
  const std::vector<NamedTensor> published = all_tensors(*model);
  std::erase_if(found, [&](const NamedTensor& candidate) {
    return std::ranges::any_of(
        published, [&](const NamedTensor& other) { return other.tensor.is_same(candidate.tensor); });
  });
  return found;
}

Learner::Learner(std::shared_ptr<torch::nn::Module> model, std::shared_ptr<losses::Loss> loss,
                 std::shared_ptr<OptimizationStepper> stepper, comm::Collectives& collectives,
                 const LearnerOptions& options)
    : state_(
          new State{std::move(model), std::move(loss), std::move(stepper), collectives, options, nullptr}) {
  check_shards(options.shards, collectives, options.store.reduction);
  refuse_running_statistics(*state_->model);
  refuse_running_statistics(state_->loss->module());
  equalize_untrained(all_tensors(*state_->model), collectives);
  equalize_untrained(state_->loss_owned(), collectives);
  const LeafTree tree = state_->tree();
  state_->store = std::make_unique<FlatStore>(state_->stepper->groups(), collectives, options.store, tree);
  state_->stepper->attach(*state_->store, tree);
}

Learner::~Learner() = default;

StepResult Learner::update(const ShardedBatch& batch, Votes votes) {
  return state_->stepper->update(*state_->loss, batch, votes);
}

losses::Metrics Learner::compute_loss(const ShardedBatch& batch) {
  return state_->stepper->evaluate(*state_->loss, batch);
}

std::map<std::string, at::Tensor> Learner::get_weights(bool cpu_offload) {
  // Every rank holds all parameters under the shardings built so far; the barrier keeps the call collective
  // all the same.
  state_->collectives.barrier().wait();
  std::map<std::string, at::Tensor> weights;
  if (cpu_offload && state_->collectives.rank() != 0) return weights;
  for (const NamedTensor& named : all_tensors(*state_->model))
    weights[named.name] = named.tensor.detach().clone();
  return weights;
}

Capabilities Learner::capabilities() const noexcept {
  return {.sharded = state_->options.store.sharding != Sharding::none, .remote = false};
}

std::int64_t Learner::own_shards() const noexcept {
  return state_->options.shards / state_->collectives.size();
}
std::int64_t Learner::first_shard() const noexcept {
  return own_shards() * state_->collectives.rank();
}
const FlatStore& Learner::store() const noexcept {
  return *state_->store;
}
OptimizationStepper& Learner::stepper() noexcept {
  return *state_->stepper;
}

StateView model_state(torch::nn::Module& module) {
  StateView view;
  add_tensors(view, "model/", all_tensors(module));
  return view;
}

StateView Learner::state() {
  StateView view = model_state(*state_->model);
  add_tensors(view, "training/loss/", state_->loss_owned());
  view.append(state_->stepper->state());
  return view;
}

}  // namespace lockstep::learner
