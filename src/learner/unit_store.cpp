#include "unit_store.hpp"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <unordered_map>

#include "flat_tensor.hpp"
#include "gathered_buffer.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/data/tensor_dtype.hpp"
#include "lockstep/learner/leaf_tree.hpp"
#include "unit_map.hpp"
#include "unit_memory.hpp"

namespace lockstep::learner {
namespace {

// What is gathered at once, and how far this leaf got with it.
struct UnitProgress {
  std::vector<std::size_t> buffers;
  std::vector<std::size_t> trained;  // parameters that ask for a gradient
  std::size_t arrived = 0;           // of their gradients, in this leaf
  int users = 0;                     // forwards and lends under way
  int passes = 0;                    // in backward
  bool awaits_gradients = false;     // backward reached it; its gradients are not complete
  bool kept = false;                 // to the leaf's end, for tied parameters
  bool reduced = false;              // in this leaf
  bool in_use() const { return users > 0 || passes > 0 || awaits_gradients || kept; }
};

}  // namespace

struct UnitStore::State {
  State(comm::Collectives& group, comm::Reduction how, std::size_t shards, std::size_t leaves_a_shard)
      : collectives(group),
        reduction(how),
        own_shards(shards),
        per_shard(leaves_a_shard),
        shard_tree(leaves_a_shard, leaves_a_shard),
        own_tree(shards, shards) {}

  comm::Collectives& collectives;
  comm::Reduction reduction;
  std::size_t own_shards, per_shard;
  LeafTree shard_tree;  // the leaves of a shard, before ranks are summed
  LeafTree own_tree;    // sums over ranks, of this rank's first shard, its second, ...
  UnitMap map;
  std::vector<ParameterSpec> specs;
  std::size_t trained_count = 0;  // the first specs; frozen ones follow
  std::vector<at::Tensor> tensors;
  std::unordered_map<const void*, std::size_t> index_of;
  ShardingPlan plan;
  std::optional<UnitMemory> memory;
  std::vector<GatheredBuffer> buffers;        // in the plan's order
  std::vector<std::size_t> buffer_of;         // by parameter
  std::vector<Placement> placement_of;        // by parameter
  std::vector<std::vector<at::Tensor>> sums;  // [slot of own_tree][buffer]: slices of summed gradients
  std::vector<std::vector<at::Tensor>>
      partials;  // [slot][buffer]: whole gradients, with several leaves a shard
  std::vector<OwnedPart> owned;
  std::vector<UnitProgress> units;
  std::deque<std::size_t> resting;  // units still gathered that nobody uses, oldest first
  std::vector<bool> taken, group_received;
  LeafOrder order = LeafOrder::by_shard;
  std::size_t leaves_begun = 0, shard = 0, leaf_of_shard = 0;
  bool in_leaf = false;
  int lends = 0;

  void list_parameters(const std::vector<ParameterGroup>& groups, torch::nn::Module& module);
  void make_buffers();
  at::Tensor zero_slice(std::size_t buffer) const;

  void open(std::size_t unit);
  void settle(std::size_t unit);
  void make_room();
  void let_rest_go() noexcept;
  void close_all() noexcept;

  void take(std::size_t index, const at::Tensor& gradient);
  bool last_of_shard() const { return leaf_of_shard + 1 == per_shard; }
  LeafTree::Step shard_step() const;
  at::Tensor& whole_gradient(std::size_t buffer, std::size_t slot);
  void complete(std::size_t unit);
  void reduce_buffer(std::size_t buffer);
};

namespace {

// Reports a unit's passes to the store.
class Gate : public nn::UnitGate {
 public:
  Gate(UnitStore::State& store, std::size_t unit) : store_(store), unit_(unit) {}

  void before_forward() override {
    for (const std::size_t needed : store_.map.needs(unit_)) {
      store_.open(needed);
      ++store_.units[needed].users;
    }
  }
  void after_forward() noexcept override {
    for (const std::size_t needed : store_.map.needs(unit_)) {
      --store_.units[needed].users;
      store_.settle(needed);
    }
  }
  void before_backward(bool with_input) override {
    for (const std::size_t needed : store_.map.needs(unit_)) {
      store_.open(needed);
      UnitProgress& unit = store_.units[needed];
      if (needed != unit_) unit.kept = true;
      unit.awaits_gradients = unit.arrived < unit.trained.size();
    }
    // Without a gradient for the input the pass ends with the unit's own gradients.
    if (with_input) ++store_.units[unit_].passes;
    if (!with_input && !store_.units[unit_].awaits_gradients) store_.units[unit_].kept = true;
  }
  void after_backward() override {
    --store_.units[unit_].passes;
    store_.settle(unit_);
  }

 private:
  UnitStore::State& store_;
  std::size_t unit_;
};

// Parameters of the module that no group trains and no gradient reaches: targets, frozen layers.
std::vector<NamedTensor> frozen_parameters(torch::nn::Module& module,
                                           const std::unordered_map<const void*, std::size_t>& trained) {
  std::vector<NamedTensor> found;
  std::unordered_map<const void*, std::size_t> seen = trained;
  for (const auto& item : module.named_parameters()) {
    const at::Tensor& tensor = item.value();
    const bool fits = tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble;
    if (!tensor.requires_grad() && fits && seen.try_emplace(tensor.unsafeGetTensorImpl(), 0).second)
      found.push_back({item.key(), tensor});
  }
  return found;
}

}  // namespace

void UnitStore::State::list_parameters(const std::vector<ParameterGroup>& groups, torch::nn::Module& module) {
  map.add(module);
  specs = specs_of(groups);
  trained_count = specs.size();
  for (const ParameterGroup& group : groups)
    for (const NamedTensor& parameter : group.parameters) {
      index_of[parameter.tensor.unsafeGetTensorImpl()] = tensors.size();
      tensors.push_back(parameter.tensor);
    }
  for (const NamedTensor& parameter : frozen_parameters(module, index_of)) {
    index_of[parameter.tensor.unsafeGetTensorImpl()] = tensors.size();
    tensors.push_back(parameter.tensor);
    specs.push_back({.name = parameter.name,
                     .shape = parameter.tensor.sizes().vec(),
                     .dtype = dtype_of(parameter.tensor.scalar_type()),
                     .group = frozen_group});
  }
  for (std::size_t i = 0; i < specs.size(); ++i) specs[i].unit = map.unit_of(tensors[i]);
}

at::Tensor UnitStore::State::zero_slice(std::size_t buffer) const {
  const GatheredBuffer& at = buffers[buffer];
  const std::size_t elements = at.end() - at.begin();
  return flat_tensor(staging::Buffer(elements * size_of(at.layout().dtype), "slice of gradients"), elements,
                     at.layout().dtype);
}

void UnitStore::State::make_buffers() {
  plan =
      make_plan(specs, static_cast<std::size_t>(collectives.size()), std::numeric_limits<std::size_t>::max());
  std::size_t largest = 1;
  for (const FlatBuffer& buffer : plan.buffers)
    largest = std::max(largest, buffer.elements * size_of(buffer.dtype));
  memory.emplace(collectives, largest);
  units.resize(map.units());
  buffer_of.resize(specs.size());
  placement_of.resize(specs.size());
  buffers.reserve(plan.buffers.size());
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const FlatBuffer& layout = plan.buffers[b];
    buffers.emplace_back(layout, specs, tensors, collectives, *memory);
    units[layout.unit].buffers.push_back(b);
    for (const Placement& place : layout.placements) {
      buffer_of[place.parameter] = b;
      placement_of[place.parameter] = place;
      if (place.parameter < trained_count) units[layout.unit].trained.push_back(place.parameter);
    }
  }
  for (std::size_t slot = 0; slot < own_tree.slots(); ++slot) {
    sums.emplace_back();
    for (std::size_t b = 0; b < buffers.size(); ++b)
      sums.back().push_back(plan.buffers[b].group == frozen_group ? at::Tensor() : zero_slice(b));
  }
  for (std::size_t b = 0; b < buffers.size(); ++b)
    if (plan.buffers[b].group != frozen_group && buffers[b].end() > buffers[b].begin())
      owned.push_back({.buffer = b,
                       .begin = buffers[b].begin(),
                       .end = buffers[b].end(),
                       .parameters = buffers[b].slice(),
                       .gradients = sums[0][b]});
}

void UnitStore::State::make_room() {
  while (!memory->has_free() && !resting.empty()) {
    for (const std::size_t b : units[resting.front()].buffers) buffers[b].close();
    resting.pop_front();
  }
}

void UnitStore::State::open(std::size_t unit) {
  std::erase(resting, unit);
  for (const std::size_t b : units[unit].buffers) {
    if (buffers[b].is_open()) continue;
    make_room();
    buffers[b].open();
  }
}

// A unit that nobody uses stays gathered until its memory is wanted: backward begins where forward ended.
void UnitStore::State::settle(std::size_t unit) {
  if (!units[unit].in_use() && std::ranges::find(resting, unit) == resting.end()) resting.push_back(unit);
}

void UnitStore::State::let_rest_go() noexcept {
  for (const std::size_t unit : resting)
    for (const std::size_t b : units[unit].buffers) buffers[b].close();
  resting.clear();
}

void UnitStore::State::close_all() noexcept {
  resting.clear();
  for (GatheredBuffer& buffer : buffers) {
    buffer.close();
    buffer.drop_gradient();
  }
}

// Where leaves come call by call, each shard has partial sums of its own.
LeafTree::Step UnitStore::State::shard_step() const {
  LeafTree::Step step = shard_tree.step(leaf_of_shard);
  const std::size_t first = order == LeafOrder::by_call ? shard * shard_tree.slots() : 0;
  step.slot += first;
  for (LeafTree::Merge& merge : step.merges) merge = {merge.from + first, merge.into + first};
  return step;
}

// With one leaf a shard a unit's gradient comes and goes; with several it waits for the last one.
at::Tensor& UnitStore::State::whole_gradient(std::size_t buffer, std::size_t slot) {
  if (per_shard == 1) {
    make_room();
    return buffers[buffer].gradient();
  }
  while (partials.size() <= slot) partials.emplace_back(buffers.size());
  at::Tensor& partial = partials[slot][buffer];
  if (!partial.defined()) {
    const FlatBuffer& layout = plan.buffers[buffer];
    partial = flat_tensor(staging::Buffer(layout.elements * size_of(layout.dtype), "partial gradients"),
                          layout.elements, layout.dtype);
  }
  return partial;
}

void UnitStore::State::take(std::size_t index, const at::Tensor& gradient) {
  if (!in_leaf) throw_outside_a_step(specs[index].name);
  const LeafTree::Step step = shard_step();
  const at::Tensor into =
      view_of(whole_gradient(buffer_of[index], step.slot), placement_of[index], specs[index].shape);
  if (step.add)
    into.add_(gradient);
  else
    into.copy_(gradient);
  taken[index] = true;
  group_received[specs[index].group] = true;
  UnitProgress& unit = units[specs[index].unit];
  if (++unit.arrived == unit.trained.size()) complete(specs[index].unit);
}

// All gradients of a unit that this leaf gives are there: a missing one counts as zero.
void UnitStore::State::complete(std::size_t index) {
  UnitProgress& unit = units[index];
  const LeafTree::Step step = shard_step();
  for (const std::size_t parameter : unit.trained) {
    if (taken[parameter]) continue;
    const at::Tensor into = view_of(whole_gradient(buffer_of[parameter], step.slot), placement_of[parameter],
                                    specs[parameter].shape);
    // Added, a zero is not nothing: -0.0 + 0.0 is 0.0.
    if (step.add)
      into.add_(0);
    else
      into.zero_();
  }
  for (const std::size_t b : unit.buffers) {
    if (plan.buffers[b].group == frozen_group) continue;
    for (const LeafTree::Merge& merge : step.merges)
      whole_gradient(b, merge.into).add_(whole_gradient(b, merge.from));
    if (last_of_shard()) reduce_buffer(b);
  }
  unit.reduced = true;
  unit.awaits_gradients = false;
  settle(index);
}

void UnitStore::State::reduce_buffer(std::size_t b) {
  const std::size_t first = order == LeafOrder::by_call ? shard * shard_tree.slots() : 0;
  const at::Tensor own = buffers[b].reduced(whole_gradient(b, first), reduction);
  const LeafTree::Step& step = own_tree.step(shard);
  if (step.add)
    sums[step.slot][b].add_(own);
  else
    sums[step.slot][b].copy_(own);
  for (const LeafTree::Merge& merge : step.merges) sums[merge.into][b].add_(sums[merge.from][b]);
  buffers[b].drop_gradient();
}

UnitStore::UnitStore(const std::vector<ParameterGroup>& groups, torch::nn::Module& module,
                     comm::Collectives& collectives, comm::Reduction reduction, std::size_t shards,
                     std::size_t leaves_a_shard)
    : state_(std::make_unique<State>(collectives, reduction, shards, leaves_a_shard)) {
  State& s = *state_;
  s.list_parameters(groups, module);
  s.make_buffers();
  s.taken.resize(s.specs.size());
  s.group_received.resize(groups.size());
  for (std::size_t i = 0; i < s.trained_count; ++i)
    torch::autograd::impl::set_post_acc_grad_hooks(s.tensors[i],
                                                   std::make_unique<TakeGradient<State>>(&s, i));
  for (std::size_t unit = 1; unit < s.map.units(); ++unit)
    s.map.module(unit)->set_gate(std::make_shared<Gate>(s, unit));
}

UnitStore::~UnitStore() {
  State& s = *state_;
  for (std::size_t i = 0; i < s.trained_count; ++i)
    torch::autograd::impl::set_post_acc_grad_hooks(s.tensors[i], nullptr);
  for (std::size_t unit = 1; unit < s.map.units(); ++unit) s.map.module(unit)->set_gate(nullptr);
}

comm::Collectives& UnitStore::collectives() noexcept {
  return state_->collectives;
}
const ShardingPlan& UnitStore::plan() const noexcept {
  return state_->plan;
}
const std::vector<OwnedPart>& UnitStore::owned() const noexcept {
  return state_->owned;
}
const ParameterSpec& UnitStore::parameter(std::size_t index) const {
  return state_->specs.at(index);
}
std::size_t UnitStore::parameter_count() const noexcept {
  return state_->trained_count;
}
bool UnitStore::received(std::size_t group) const noexcept {
  return state_->group_received[group];
}

StateEntry UnitStore::state_of(const at::Tensor& tensor, const std::string& name) const {
  const State& s = *state_;
  const auto found = s.index_of.find(tensor.unsafeGetTensorImpl());
  if (found == s.index_of.end()) return Store::state_of(tensor, name);
  const ParameterSpec& spec = s.specs[found->second];
  const GatheredBuffer& buffer = s.buffers[s.buffer_of[found->second]];
  auto* base = static_cast<std::byte*>(buffer.slice().data_ptr());
  StateEntry entry{.name = name, .dtype = spec.dtype, .shape = spec.shape, .extents = {}};
  for (const ParameterRun& run : runs_within(buffer.layout(), buffer.begin(), buffer.end()))
    if (run.parameter == found->second)
      entry.extents.push_back({.offset = run.parameter_offset,
                               .length = run.length,
                               .data = base + (run.buffer_offset - buffer.begin()) * size_of(spec.dtype)});
  return entry;
}

void UnitStore::begin_step(LeafOrder order) {
  State& s = *state_;
  if (s.lends > 0) throw ContractError("a step began while the weights were lent; take them back first");
  s.group_received.assign(s.group_received.size(), false);
  s.order = order;
  s.leaves_begun = 0;
}

void UnitStore::begin_leaf() {
  State& s = *state_;
  const bool by_shard = s.order == LeafOrder::by_shard;
  s.shard = by_shard ? s.leaves_begun / s.per_shard : s.leaves_begun % s.own_shards;
  s.leaf_of_shard = by_shard ? s.leaves_begun % s.per_shard : s.leaves_begun / s.own_shards;
  ++s.leaves_begun;
  s.taken.assign(s.taken.size(), false);
  for (UnitProgress& unit : s.units) {
    unit.arrived = 0;
    unit.passes = 0;
    unit.reduced = unit.awaits_gradients = unit.kept = false;
  }
  s.in_leaf = true;
  s.open(0);
  s.units[0].kept = true;
}

void UnitStore::end_leaf() {
  State& s = *state_;
  for (std::size_t unit = 0; unit < s.units.size(); ++unit)
    if (!s.units[unit].reduced && !s.units[unit].trained.empty()) s.complete(unit);
  s.in_leaf = false;
  s.close_all();
}

void UnitStore::abandon_leaf() noexcept {
  State& s = *state_;
  s.in_leaf = false;
  for (const at::Tensor& tensor : s.tensors) tensor.mutable_grad().reset();
  s.close_all();
}

ExactSum UnitStore::squared_norm(std::size_t group) const {
  ExactSum sum;
  for (const OwnedPart& part : state_->owned)
    if (state_->plan.buffers[part.buffer].group == group)
      add_squares(state_->plan.buffers[part.buffer], part, sum);
  return sum;
}

std::size_t UnitStore::first_non_finite() const {
  std::size_t first = parameter_count();
  for (const OwnedPart& part : state_->owned)
    first = first_non_finite_of(state_->plan.buffers[part.buffer], part, first);
  return first;
}

void UnitStore::scale(std::size_t group, double factor) {
  for (OwnedPart& part : state_->owned)
    if (state_->plan.buffers[part.buffer].group == group) part.gradients.mul_(factor);
}

void UnitStore::follow(const std::vector<std::pair<at::Tensor, at::Tensor>>& targets, double tau) {
  State& s = *state_;
  const at::NoGradGuard no_gradient;
  for (const auto& [target, source] : targets) {
    const auto from = s.index_of.find(source.unsafeGetTensorImpl());
    if (from != s.index_of.end()) s.open(s.specs[from->second].unit);
    const auto into = s.index_of.find(target.unsafeGetTensorImpl());
    if (into == s.index_of.end()) {
      Store::follow({{target, source}}, tau);
    } else {
      // This rank's slice of the target alone, from the whole source.
      const GatheredBuffer& buffer = s.buffers[s.buffer_of[into->second]];
      const at::Tensor whole = source.detach().view(-1);
      for (const ParameterRun& run : runs_within(buffer.layout(), buffer.begin(), buffer.end()))
        if (run.parameter == into->second)
          Store::follow({{narrowed(buffer.slice(), run.buffer_offset - buffer.begin(), run.length),
                          narrowed(whole, run.parameter_offset, run.length)}},
                        tau);
    }
    if (from != s.index_of.end()) s.settle(s.specs[from->second].unit);
  }
  s.let_rest_go();
}

void UnitStore::begin_forward() {
  state_->open(0);
  ++state_->units[0].users;
}
void UnitStore::end_forward() noexcept {
  --state_->units[0].users;
  state_->settle(0);
  state_->let_rest_go();
}

void UnitStore::lend() {
  ++state_->lends;
  for (std::size_t unit = 0; unit < state_->units.size(); ++unit) {
    state_->open(unit);
    ++state_->units[unit].users;
  }
}
void UnitStore::take_back() noexcept {
  --state_->lends;
  for (std::size_t unit = 0; unit < state_->units.size(); ++unit) {
    --state_->units[unit].users;
    state_->settle(unit);
  }
  state_->let_rest_go();
}

}  // namespace lockstep::learner
