#include "lockstep/learner/flat_store.hpp"

#include <spdlog/fmt/fmt.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <optional>

#include "flat_tensor.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/learner/leaf_tree.hpp"
#include "lockstep/nn/dense.hpp"

namespace lockstep::learner {

Sharding sharding_from(const std::string& name) {
  if (name == "none") return Sharding::none;
  if (name == "optimizer") return Sharding::optimizer;
  if (name == "parameters") return Sharding::parameters;
  throw InputError(fmt::format("unknown sharding '{}'; known: none, optimizer, parameters", name));
}

struct FlatStore::State {
  State(RankGrid& ranks, const StoreOptions& chosen, const LeafCounts& counts)
      : grid(ranks),
        collectives(ranks.group()),
        options(chosen),
        leaves(counts),
        tree(counts.total, counts.own) {}

  RankGrid& grid;
  comm::Collectives& collectives;  // of this rank's group
  StoreOptions options;
  LeafCounts leaves;
  LeafTree tree;                      // of leaves by shard
  std::optional<LeafTree> call_tree;  // of leaves by call, once they are used
  std::vector<ParameterSpec> specs;
  ShardingPlan plan;
  std::vector<at::Tensor> tensors;                      // the parameters, views of flat_parameters
  std::vector<at::Tensor> flat_parameters;              // by buffer
  std::vector<std::vector<at::Tensor>> flat_gradients;  // [slot][buffer]
  std::vector<std::vector<at::Tensor>> gradient_views;  // [slot][parameter]
  std::vector<OwnedPart> owned;
  std::vector<OwnedPart> share;                  // what this rank reduces: `owned`, or its cut of it
  std::vector<std::vector<Block>> share_blocks;  // the norm's blocks of each
  const LeafTree* arrivals = nullptr;            // the tree of this step's order
  std::size_t arrived = 0;                       // leaves of this step that began
  LeafTree::Step step;
  bool in_leaf = false;
  std::vector<bool> taken;  // by parameter, in this leaf
  std::vector<bool> group_received;

  void take(std::size_t index, const at::Tensor& gradient);
  void place_parameters(const std::vector<ParameterGroup>& groups);
  void place_gradients(std::size_t slots);
  const LeafTree& tree_for(LeafOrder order);
  void find_parts();
  // `body` for each bucket of a flat tensor, where it begins; nothing where there is one rank.
  template <class Body>
  void each_bucket(std::size_t index, const at::Tensor& flat, Body&& body) {
    if (collectives.size() == 1) return;
    const FlatBuffer& buffer = plan.buffers[index];
    auto* data = static_cast<std::byte*>(flat.data_ptr());
    for (const Bucket& bucket : buffer.buckets)
      body(data + bucket.begin * size_of(buffer.dtype), bucket, buffer.dtype);
  }
  void gather(const std::vector<at::Tensor>& flats) {
    for (std::size_t b = 0; b < flats.size(); ++b)
      each_bucket(b, flats[b], [&](std::byte* data, const Bucket& bucket, Dtype dtype) {
        collectives.all_gather(data, bucket.cuts, dtype).wait();
      });
  }
  std::vector<OwnedPart> parts_of_rank() const;
  OwnedPart part(std::size_t buffer, std::size_t begin, std::size_t end) const;
};

void FlatStore::State::take(std::size_t index, const at::Tensor& gradient) {
  if (!in_leaf) throw_outside_a_step(specs[index].name);
  at::Tensor& into = gradient_views[step.slot][index];
  if (step.add)
    into.add_(gradient);
  else if (nn::is_dense(gradient) && gradient.scalar_type() == into.scalar_type())
    copy_bytes(into.data_ptr(), gradient.const_data_ptr(), into.nbytes());  // small ones are many
  else
    into.copy_(gradient);
  taken[index] = true;
  group_received[specs[index].group] = true;
}

void FlatStore::State::place_parameters(const std::vector<ParameterGroup>& groups) {
  for (const ParameterGroup& group : groups)
    for (const NamedTensor& parameter : group.parameters) tensors.push_back(parameter.tensor);
  for (const FlatBuffer& buffer : plan.buffers) {
    const staging::Buffer memory = collectives.allocate(buffer.elements * size_of(buffer.dtype));
    flat_parameters.push_back(flat_tensor(memory, buffer.elements, buffer.dtype));
    for (const Placement& place : buffer.placements) {
      at::Tensor view = view_of(flat_parameters.back(), place, specs[place.parameter].shape);
      at::Tensor& tensor = tensors[place.parameter];
      view.copy_(tensor.detach());
      tensor.set_data(view);
    }
    // Every rank computed the same values if its libraries and processor are the same; rank 0's hold if not.
    grid.spread({static_cast<std::byte*>(flat_parameters.back().data_ptr()),
                 buffer.elements * size_of(buffer.dtype)});
  }
}

// As many partial sums as a tree needs; those that are there stay.
void FlatStore::State::place_gradients(std::size_t slots) {
  for (std::size_t slot = flat_gradients.size(); slot < slots; ++slot) {
    std::vector<at::Tensor>& flats = flat_gradients.emplace_back();
    std::vector<at::Tensor>& views = gradient_views.emplace_back(specs.size());
    for (const FlatBuffer& buffer : plan.buffers) {
      const std::size_t bytes = buffer.elements * size_of(buffer.dtype);
      // Only slot 0 is reduced between ranks; the other partial sums stay private.
      const staging::Buffer memory =
          slot == 0 ? collectives.allocate(bytes) : staging::Buffer(bytes, "partial gradients");
      flats.push_back(flat_tensor(memory, buffer.elements, buffer.dtype));
      for (const Placement& place : buffer.placements)
        views[place.parameter] = view_of(flats.back(), place, specs[place.parameter].shape);
    }
  }
}

OwnedPart FlatStore::State::part(std::size_t buffer, std::size_t begin, std::size_t end) const {
  const auto slice = [&](const at::Tensor& flat) {
    return flat.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin));
  };
  return {.buffer = buffer,
          .begin = begin,
          .end = end,
          .parameters = slice(flat_parameters[buffer]),
          .gradients = slice(flat_gradients[0][buffer])};
}

std::vector<OwnedPart> FlatStore::State::parts_of_rank() const {
  std::vector<OwnedPart> parts;
  const std::size_t rank = static_cast<std::size_t>(collectives.rank());
  for (std::size_t b = 0; b < plan.buffers.size(); ++b)
    for (const Bucket& bucket : plan.buffers[b].buckets) {
      const std::size_t begin = bucket.begin + bucket.cuts[rank], end = bucket.begin + bucket.cuts[rank + 1];
      if (begin == end) continue;
      // Neighbouring parts become one: on one rank a whole buffer is one kernel call.
      if (!parts.empty() && parts.back().buffer == b && parts.back().end == begin)
        parts.back() = part(b, parts.back().begin, end);
      else
        parts.push_back(part(b, begin, end));
    }
  return parts;
}

void FlatStore::State::find_parts() {
  share = parts_of_rank();
  for (const OwnedPart& part : share)
    share_blocks.push_back(blocks_within(plan.buffers[part.buffer], part.begin, part.end));
  if (options.sharding == Sharding::optimizer) {
    owned = share;
    return;
  }
  for (std::size_t b = 0; b < plan.buffers.size(); ++b)
    if (plan.buffers[b].elements > 0) owned.push_back(part(b, 0, plan.buffers[b].elements));
}

FlatStore::FlatStore(const std::vector<ParameterGroup>& groups, RankGrid& grid, const StoreOptions& options,
                     const LeafCounts& leaves)
    : state_(std::make_unique<State>(grid, options, leaves)) {
  State& s = *state_;
  s.specs = specs_of(groups);
  s.plan = make_plan(s.specs, static_cast<std::size_t>(s.collectives.size()), options.bucket_bytes);
  s.place_parameters(groups);
  s.place_gradients(s.tree.slots());
  s.find_parts();
  s.taken.resize(s.specs.size());
  s.group_received.resize(groups.size());
  for (std::size_t i = 0; i < s.tensors.size(); ++i)
    torch::autograd::impl::set_post_acc_grad_hooks(s.tensors[i],
                                                   std::make_unique<TakeGradient<State>>(&s, i));
}

FlatStore::~FlatStore() {
  for (const at::Tensor& tensor : state_->tensors)
    torch::autograd::impl::set_post_acc_grad_hooks(tensor, nullptr);
}

comm::Collectives& FlatStore::collectives() noexcept {
  return state_->grid.all();
}
const ShardingPlan& FlatStore::plan() const noexcept {
  return state_->plan;
}
const std::vector<OwnedPart>& FlatStore::owned() const noexcept {
  return state_->owned;
}
const ParameterSpec& FlatStore::parameter(std::size_t index) const {
  return state_->specs.at(index);
}
std::size_t FlatStore::parameter_count() const noexcept {
  return state_->specs.size();
}

const LeafTree& FlatStore::State::tree_for(LeafOrder order) {
  if (order == LeafOrder::by_shard) return tree;
  if (!call_tree) {
    std::vector<std::size_t> arrivals_by_call;
    for (std::size_t call = 0; call < leaves.per_shard; ++call)
      for (std::size_t leaf = call; leaf < leaves.own; leaf += leaves.per_shard)
        arrivals_by_call.push_back(leaf);
    call_tree.emplace(leaves.total, leaves.own, arrivals_by_call);
    place_gradients(call_tree->slots());
  }
  return *call_tree;
}

void FlatStore::begin_step(LeafOrder order) {
  State& s = *state_;
  s.group_received.assign(s.group_received.size(), false);
  s.arrivals = &s.tree_for(order);
  s.arrived = 0;
}
bool FlatStore::received(std::size_t group) const noexcept {
  return state_->group_received[group];
}

void FlatStore::begin_leaf() {
  State& s = *state_;
  s.step = s.arrivals->step(s.arrived++);
  s.in_leaf = true;
  s.taken.assign(s.taken.size(), false);
}

void FlatStore::end_leaf() {
  State& s = *state_;
  s.in_leaf = false;
  for (std::size_t i = 0; i < s.taken.size(); ++i) {
    if (s.taken[i]) continue;
    // No gradient counts as zero. Added, it is not nothing: -0.0 + 0.0 is 0.0.
    if (s.step.add)
      s.gradient_views[s.step.slot][i].add_(0);
    else
      s.gradient_views[s.step.slot][i].zero_();
  }
  for (const LeafTree::Merge& merge : s.step.merges)
    for (std::size_t b = 0; b < s.plan.buffers.size(); ++b)
      s.flat_gradients[merge.into][b].add_(s.flat_gradients[merge.from][b]);
}

void FlatStore::abandon_leaf() noexcept {
  state_->in_leaf = false;
  for (const at::Tensor& tensor : state_->tensors) tensor.mutable_grad().reset();
}

void FlatStore::reduce() {
  State& s = *state_;
  for (std::size_t b = 0; b < s.plan.buffers.size(); ++b)
    s.each_bucket(b, s.flat_gradients[0][b], [&](std::byte* data, const Bucket& bucket, Dtype dtype) {
      s.collectives.reduce_scatter(data, bucket.cuts, dtype, s.options.reduction).wait();
    });
  for (const OwnedPart& part : s.share)
    s.grid.sum_over_replicas(part.gradients.data_ptr(), part.end - part.begin,
                             s.plan.buffers[part.buffer].dtype);
  if (s.options.sharding == Sharding::none) s.gather(s.flat_gradients[0]);
}

ExactSum FlatStore::squared_norm(std::size_t group) const {
  ExactSum sum;
  if (state_->grid.replica() > 0) return sum;  // every group has the same gradients: one speaks
  for (std::size_t i = 0; i < state_->share.size(); ++i)
    if (state_->plan.buffers[state_->share[i].buffer].group == group)
      add_squares(state_->share[i], state_->share_blocks[i], sum);
  return sum;
}

std::size_t FlatStore::first_non_finite() const {
  std::size_t first = parameter_count();
  for (const OwnedPart& part : state_->share)
    first = first_non_finite_of(state_->plan.buffers[part.buffer], part, first);
  return first;
}

void FlatStore::scale(std::size_t group, double factor) {
  for (OwnedPart& part : state_->owned)
    if (state_->plan.buffers[part.buffer].group == group) part.gradients.mul_(factor);
}

void FlatStore::refresh() {
  if (state_->options.sharding == Sharding::optimizer) state_->gather(state_->flat_parameters);
}

}  // namespace lockstep::learner
