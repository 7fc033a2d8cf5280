#include "unit_store.hpp"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/variable.h>

#include "flat_tensor.hpp"
#include "lockstep/core/error.hpp"
#include "unit_gate.hpp"
#include "unit_state.hpp"

namespace lockstep::learner {

UnitStore::UnitStore(const std::vector<ParameterGroup>& groups, torch::nn::Module& module, RankGrid& grid,
                     comm::Reduction reduction, std::size_t shards, std::size_t leaves_a_shard)
    : state_(std::make_unique<State>(grid, reduction, shards, leaves_a_shard)) {
  State& s = *state_;
  s.list_parameters(groups, module);
  s.make_buffers();
  s.taken.resize(s.specs.size());
  s.group_received.resize(groups.size());
  for (std::size_t i = 0; i < s.trained_count; ++i)
    torch::autograd::impl::set_post_acc_grad_hooks(s.tensors[i],
                                                   std::make_unique<TakeGradient<State>>(&s, i));
  for (std::size_t unit = 1; unit < s.map.units(); ++unit)
    s.map.module(unit)->set_gate(std::make_shared<StoreGate>(s, unit));
}

UnitStore::~UnitStore() {
  State& s = *state_;
  for (std::size_t i = 0; i < s.trained_count; ++i)
    torch::autograd::impl::set_post_acc_grad_hooks(s.tensors[i], nullptr);
  for (std::size_t unit = 1; unit < s.map.units(); ++unit) s.map.module(unit)->set_gate(nullptr);
}

comm::Collectives& UnitStore::collectives() noexcept {
  return state_->grid.all();
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

void UnitStore::reduce() {
  for (const OwnedPart& part : state_->owned)
    state_->grid.sum_over_replicas(part.gradients.data_ptr(), part.end - part.begin,
                                   state_->plan.buffers[part.buffer].dtype);
}

ExactSum UnitStore::squared_norm(std::size_t group) const {
  ExactSum sum;
  if (state_->grid.replica() > 0) return sum;  // every group has the same gradients: one speaks
  for (std::size_t i = 0; i < state_->owned.size(); ++i)
    if (state_->plan.buffers[state_->owned[i].buffer].group == group)
      add_squares(state_->owned[i], state_->owned_blocks[i], sum);
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
