#include "unit_state.hpp"

#include <algorithm>
#include <limits>

#include "flat_tensor.hpp"
#include "lockstep/data/tensor_dtype.hpp"

namespace lockstep::learner {
namespace {

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
    buffers.emplace_back(layout, specs, tensors, grid, *memory);
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
  for (const OwnedPart& part : owned)
    owned_blocks.push_back(blocks_within(plan.buffers[part.buffer], part.begin, part.end));
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

}  // namespace lockstep::learner
