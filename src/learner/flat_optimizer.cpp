#include "lockstep/learner/flat_optimizer.hpp"

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "lockstep/data/tensor_dtype.hpp"

namespace lockstep::learner {
namespace {

// A group's parts on this rank, as the lists that fused kernels take. `moments[m]` holds the m-th state of
// each part.
struct GroupState {
  OptimizerOptions options;
  std::vector<std::size_t> parts;  // indices into the store's owned parts
  std::vector<at::Tensor> parameters, gradients;
  std::vector<std::vector<at::Tensor>> moments;
  at::Tensor step;  // float32 scalar: what the kernels read, and what checkpoints hold
};

std::vector<std::string> moment_names(const OptimizerOptions& options) {
  if (options.kind == OptimizerKind::sgd)
    return options.momentum > 0 ? std::vector<std::string>{"momentum_buffer"} : std::vector<std::string>{};
  return {"exp_avg", "exp_avg_sq"};
}

GroupState make_group(std::size_t index, const OptimizerOptions& options, const Store& store) {
  GroupState group{
      .options = options, .parts = {}, .parameters = {}, .gradients = {}, .moments = {}, .step = {}};
  group.step = at::zeros({}, at::kFloat);
  group.moments.resize(moment_names(options).size());
  for (std::size_t i = 0; i < store.owned().size(); ++i) {
    const OwnedPart& part = store.owned()[i];
    if (store.plan().buffers[part.buffer].group != index) continue;
    group.parts.push_back(i);
    group.parameters.push_back(part.parameters);
    group.gradients.push_back(part.gradients);
    for (auto& moment : group.moments) moment.push_back(at::zeros_like(part.parameters));
  }
  return group;
}

void step_group(GroupState& group) {
  const OptimizerOptions& o = group.options;
  group.step.add_(1);
  if (group.parameters.empty()) return;
  const std::vector<at::Tensor> steps(group.parameters.size(), group.step);
  switch (o.kind) {
    case OptimizerKind::adamw:
      at::_fused_adamw_(group.parameters, group.gradients, group.moments[0], group.moments[1], {}, steps,
                        o.learning_rate, o.beta1, o.beta2, o.weight_decay, o.epsilon, /*amsgrad=*/false,
                        /*maximize=*/false);
      break;
    case OptimizerKind::adam:
      at::_fused_adam_(group.parameters, group.gradients, group.moments[0], group.moments[1], {}, steps,
                       o.learning_rate, o.beta1, o.beta2, o.weight_decay, o.epsilon, /*amsgrad=*/false,
                       /*maximize=*/false);
      break;
    case OptimizerKind::sgd:
      at::_fused_sgd_(group.parameters, group.gradients,
                      group.moments.empty() ? at::TensorList{} : at::TensorList(group.moments[0]),
                      o.weight_decay, o.momentum, o.learning_rate, /*dampening=*/0.0, /*nesterov=*/false,
                      /*maximize=*/false,
                      /*is_first_step=*/group.step.item<float>() == 1.0f);
      break;
  }
}

}  // namespace

struct FlatOptimizer::State {
  explicit State(Store& where) : store(where) {}
  Store& store;
  std::vector<GroupState> groups;

  StateEntry moment_entry(const GroupState& group, std::size_t moment, std::size_t parameter,
                          const std::string& name);
};

FlatOptimizer::FlatOptimizer(const std::vector<ParameterGroup>& groups, Store& store)
    : state_(std::make_unique<State>(store)) {
  for (std::size_t i = 0; i < groups.size(); ++i)
    state_->groups.push_back(make_group(i, groups[i].options, store));
}

FlatOptimizer::~FlatOptimizer() = default;

void FlatOptimizer::step(std::size_t group) {
  step_group(state_->groups.at(group));
}

void FlatOptimizer::set_learning_rate(std::size_t group, double learning_rate) {
  state_->groups.at(group).options.learning_rate = learning_rate;
}

// The extents of one parameter's moment: wherever this rank's parts meet the parameter.
StateEntry FlatOptimizer::State::moment_entry(const GroupState& group, std::size_t moment,
                                              std::size_t parameter, const std::string& name) {
  const ParameterSpec& spec = store.parameter(parameter);
  StateEntry entry{.name = name, .dtype = spec.dtype, .shape = spec.shape, .extents = {}};
  for (std::size_t i = 0; i < group.parts.size(); ++i) {
    const OwnedPart& part = store.owned()[group.parts[i]];
    auto* base = static_cast<std::byte*>(group.moments[moment][i].data_ptr());
    for (const ParameterRun& run : runs_within(store.plan().buffers[part.buffer], part.begin, part.end))
      if (run.parameter == parameter)
        entry.extents.push_back({.offset = run.parameter_offset,
                                 .length = run.length,
                                 .data = base + (run.buffer_offset - part.begin) * size_of(spec.dtype)});
  }
  return entry;
}

StateView FlatOptimizer::state() {
  StateView view;
  for (std::size_t i = 0; i < state_->store.parameter_count(); ++i) {
    GroupState& group = state_->groups[state_->store.parameter(i).group];
    const std::string prefix = "training/optimizer/" + escape_name(state_->store.parameter(i).name) + "/";
    const std::vector<std::string> names = moment_names(group.options);
    for (std::size_t m = 0; m < names.size(); ++m)
      view.entries.push_back(state_->moment_entry(group, m, i, prefix + names[m]));
    view.add_whole(prefix + "step", Dtype::float32, {}, group.step.data_ptr());
  }
  return view;
}

}  // namespace lockstep::learner
