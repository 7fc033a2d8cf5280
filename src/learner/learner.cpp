#include "lockstep/learner/learner.hpp"

#include <ATen/ops/empty.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "lockstep/core/error.hpp"
#include "lockstep/core/random.hpp"
#include "lockstep/core/reduction_tree.hpp"
#include "lockstep/data/tensor_dtype.hpp"
#include "state_guard.hpp"
#include "unit_store.hpp"

namespace lockstep::learner {
namespace {

bool splits(std::int64_t total, std::int64_t parts) {
  return tree_splits(static_cast<std::size_t>(total), static_cast<std::size_t>(parts));
}

void check_replicas(std::int64_t replicas, const comm::Collectives& collectives) {
  if (replicas < 1 || collectives.size() % replicas != 0)
    throw ContractError(
        fmt::format("{} replicas cannot share {} ranks evenly; replicas must divide the ranks", replicas,
                    collectives.size()));
}

void check_shards(std::int64_t shards, const comm::Collectives& collectives, const StoreOptions& options) {
  const std::int64_t ranks = collectives.size();
  if (shards < 1 || shards % ranks != 0)
    throw ContractError(fmt::format(
        "{} shards cannot be shared evenly by {} ranks; shards must be a multiple of ranks", shards, ranks));
  if (options.reduction != comm::Reduction::exact) return;
  if (!splits(shards, options.replicas))
    throw ContractError(
        fmt::format("exact reduction needs shards / replicas to be a power of two, or one replica; {} / {} "
                    "is not; use other "
                    "replicas, or reduction 'fast'",
                    shards, options.replicas));
  // Neighbouring shards are on different ranks where parameters are sharded: each sum over a group's ranks
  // must be a subtree.
  const bool cyclic = options.sharding == Sharding::parameters;
  if (cyclic && !splits(shards / options.replicas, shards / ranks))
    throw ContractError(fmt::format(
        "exact reduction with sharded parameters needs ranks that are a power of two dividing the "
        "shards evenly, or as many shards as ranks; {} shards on {} ranks are neither; use other "
        "ranks, or reduction 'fast'",
        shards, ranks));
  if (!cyclic && !splits(shards, ranks))
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

at::Tensor normal_noise(const losses::NoiseEntry& entry, std::int64_t rows, RandomStream& stream) {
  const at::Tensor noise = at::empty({rows, entry.columns}, at::kDouble);
  stream.fill_normal({noise.mutable_data_ptr<double>(), static_cast<std::size_t>(noise.numel())});
  return noise.to(entry.dtype);
}

constexpr std::string_view optimizer_prefix = "training/optimizer/";

// "training/optimizer/<parameter>/" of one of its entries.
std::string parameter_part(const std::string& name) {
  return name.substr(0, name.rfind('/') + 1);
}

// The entries that a checkpoint must have: all, but for the optimizer state of parameters of which it has
// none.
StateView without_absent_moments(StateView view, const StateMap& checkpoint) {
  std::erase_if(view.entries, [&](const StateEntry& entry) {
    if (!entry.name.starts_with(optimizer_prefix)) return false;
    const std::string part = parameter_part(entry.name);
    const auto first = checkpoint.lower_bound(part);
    return first == checkpoint.end() || !first->first.starts_with(part);
  });
  return view;
}

}  // namespace

struct Learner::State {
  std::shared_ptr<torch::nn::Module> model;
  std::shared_ptr<losses::Loss> loss;
  std::shared_ptr<OptimizationStepper> stepper;
  comm::Collectives& collectives;
  LearnerOptions options;
  std::optional<RankGrid> grid{};
  std::unique_ptr<Store> store{};
  std::optional<StateGuard> guard{};
  std::int64_t noise_calls = 0;  // updates and accumulations so far: where the noise's draws begin

  std::int64_t own_shards() const { return options.shards / collectives.size(); }
  // Each group owns neighbouring shards, and deals them out in turn where parameters are sharded.
  std::int64_t first_shard() const {
    if (!cyclic()) return own_shards() * collectives.rank();
    return own_shards() * (collectives.rank() - place()) + place();
  }
  std::int64_t shard_stride() const { return cyclic() ? group_size() : 1; }
  std::int64_t group_size() const { return collectives.size() / options.store.replicas; }
  std::int64_t place() const { return collectives.rank() % group_size(); }  // in the group
  bool cyclic() const { return options.store.sharding == Sharding::parameters; }
  std::unique_ptr<Store> make_store();
  StepResult update(const ShardedBatch& batch, Votes votes);
  void add_tensors(StateView& view, const std::string& prefix, const std::vector<NamedTensor>& tensors) const;
  ShardedBatch with_noise(const ShardedBatch& batch) const;
  // `step` of the batch with the noise of the next call; of the batch itself where the loss wants none.
  template <class Step>
  StepResult noised(const ShardedBatch& batch, Step&& step) {
    if (loss->noise().empty()) return step(batch);
    const ShardedBatch filled = with_noise(batch);
    ++noise_calls;
    return step(filled);
  }
  std::vector<NamedTensor> loss_owned() const;
};

StepResult Learner::State::update(const ShardedBatch& batch, Votes votes) {
  return noised(batch, [&](const ShardedBatch& filled) { return stepper->update(*loss, filled, votes); });
}

std::unique_ptr<Store> Learner::State::make_store() {
  const auto k = static_cast<std::size_t>(stepper->options().accumulation);
  const auto shards = static_cast<std::size_t>(own_shards());
  if (options.store.sharding == Sharding::parameters)
    return std::make_unique<UnitStore>(stepper->groups(), loss->module(), *grid, options.store.reduction,
                                       shards, k);
  // Under `fast` no tree spans the ranks; each rank then combines its own leaves as if they were all.
  const bool exact = options.store.reduction == comm::Reduction::exact;
  const std::size_t total = exact ? static_cast<std::size_t>(options.shards) * k : shards * k;
  return std::make_unique<FlatStore>(stepper->groups(), *grid, options.store,
                                     LeafCounts{.total = total, .own = shards * k, .per_shard = k});
}

void Learner::State::add_tensors(StateView& view, const std::string& prefix,
                                 const std::vector<NamedTensor>& tensors) const {
  for (const NamedTensor& named : tensors)
    view.entries.push_back(store->state_of(named.tensor, prefix + escape_name(named.name)));
}

// Each call has 2^32 draws of a shard's stream to itself, whatever its rows.
ShardedBatch Learner::State::with_noise(const ShardedBatch& batch) const {
  const std::vector<losses::NoiseEntry> wanted = loss->noise();
  if (wanted.empty()) return batch;
  ShardedBatch filled = batch;
  for (std::size_t i = 0; i < filled.size(); ++i) {
    const auto shard =
        static_cast<std::uint32_t>(first_shard() + shard_stride() * static_cast<std::int64_t>(i));
    RandomStream stream(options.seed, StreamId::noise, shard, static_cast<std::uint64_t>(noise_calls) << 32);
    for (const losses::NoiseEntry& entry : wanted)
      if (!filled[i].has(entry.name))
        filled[i].add(entry.name, normal_noise(entry, filled[i].rows(), stream));
  }
  return filled;
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
    : state_(new State{std::move(model), std::move(loss), std::move(stepper), collectives, options}) {
  check_replicas(options.store.replicas, collectives);
  check_shards(options.shards, collectives, options.store);
  refuse_running_statistics(*state_->model);
  refuse_running_statistics(state_->loss->module());
  equalize_untrained(all_tensors(*state_->model), collectives);
  equalize_untrained(state_->loss_owned(), collectives);
  state_->grid.emplace(collectives, options.store.replicas);
  state_->store = state_->make_store();
  state_->guard.emplace(collectives, !state_->cyclic());
  state_->stepper->attach(*state_->store, static_cast<std::size_t>(own_shards()), *state_->loss);
}

Learner::~Learner() = default;

StepResult Learner::update(const ShardedBatch& batch, Votes votes) {
  if (state_->options.hash_every == 0) return state_->update(batch, votes);
  state_->guard->verify(state());
  const StepResult result = state_->update(batch, votes);
  if (result.stepped && state_->stepper->steps() % state_->options.hash_every == 0)
    state_->guard->remember(state());
  return result;
}

StepResult Learner::accumulate(const ShardedBatch& micro_batch, Votes votes) {
  state_->guard->forget();
  return state_->noised(micro_batch, [&](const ShardedBatch& filled) {
    return state_->stepper->accumulate(*state_->loss, filled, votes);
  });
}

losses::Metrics Learner::compute_loss(const ShardedBatch& batch) {
  return state_->stepper->evaluate(*state_->loss, state_->with_noise(batch));
}

StateMap Learner::get_weights(bool cpu_offload) {
  StateMap weights;
  if (cpu_offload) {
    // Piece by piece, so that no other rank ever holds the whole.
    StateView view;
    state_->add_tensors(view, "", all_tensors(*state_->model));
    for (auto& [name, tensor] : gather_state(state_->collectives, view))
      weights[unescape_name(name)] = std::move(tensor);
    return weights;
  }
  const auto lent = lend_weights();
  state_->collectives.barrier().wait();  // collective, whatever is sharded
  for (const NamedTensor& named : all_tensors(*state_->model))
    weights[named.name] = named.tensor.detach().clone();
  return weights;
}

std::shared_ptr<void> Learner::lend_weights() {
  state_->store->lend();
  return {state_->store.get(), [](Store* store) { store->take_back(); }};
}

StateMap Learner::checkpoint() {
  return gather_state(state_->collectives, state());
}

void Learner::load_checkpoint(const StateMap& checkpoint) {
  const StateView live = state();
  comm::agreed(state_->collectives, [&] {
    if (state_->collectives.rank() == 0) check_state(checkpoint, without_absent_moments(live, checkpoint));
  });
  for (const StateEntry& entry : live.entries)
    if (entry.name.starts_with(optimizer_prefix))
      for (const Extent& extent : entry.extents)
        std::memset(extent.data, 0, extent.length * size_of(entry.dtype));
  scatter_state(state_->collectives, checkpoint, live);
  state_->guard->forget();
}

Capabilities Learner::capabilities() const noexcept {
  return {.sharded = state_->options.store.sharding != Sharding::none, .remote = false};
}

std::int64_t Learner::own_shards() const noexcept {
  return state_->own_shards();
}
std::int64_t Learner::first_shard() const noexcept {
  return state_->first_shard();
}
std::int64_t Learner::shard_stride() const noexcept {
  return state_->shard_stride();
}
const Store& Learner::store() const noexcept {
  return *state_->store;
}
OptimizationStepper& Learner::stepper() noexcept {
  return *state_->stepper;
}

StateView model_state(torch::nn::Module& module) {
  StateView view;
  for (const NamedTensor& named : all_tensors(module))
    view.entries.push_back(whole_state(named.tensor, "model/" + escape_name(named.name)));
  return view;
}

StateView Learner::state() {
  StateView view;
  state_->add_tensors(view, "model/", all_tensors(*state_->model));
  state_->add_tensors(view, "training/loss/", state_->loss_owned());
  view.append(state_->stepper->state());
  if (!state_->loss->noise().empty())
    view.add_whole("training/counters/noise_calls", Dtype::int64, {}, &state_->noise_calls);
  return view;
}

}  // namespace lockstep::learner
