#include "lockstep/learner/optimization_stepper.hpp"

#include <ATen/core/grad_mode.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "leaf_outputs.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/fault.hpp"
#include "lockstep/core/log.hpp"
#include "step_message.hpp"

namespace lockstep::learner {
namespace {

// Gradients added below the norm in the clip coefficient, as torch.nn.utils.clip_grad_norm_ does.
constexpr double clip_epsilon = 1e-6;

void check_options(const StepperOptions& options) {
  if (options.accumulation < 1 || !std::has_single_bit(static_cast<std::uint64_t>(options.accumulation)))
    throw ContractError(
        fmt::format("accumulation is {}; it must be a power of two, 1 or more", options.accumulation));
  if (!(options.clip_norm >= 0) || !std::isfinite(options.clip_norm))
    throw ContractError(
        fmt::format("clip_norm is {}; it must be finite, 0 (no clipping) or more", options.clip_norm));
  if (options.max_skips < 0)
    throw ContractError(fmt::format("max_skips is {}; it must be 0 or more", options.max_skips));
}

void check_groups(const std::vector<ParameterGroup>& groups) {
  std::unordered_map<const void*, std::string> seen;
  for (const ParameterGroup& group : groups)
    for (const NamedTensor& parameter : group.parameters) {
      const auto [found, fresh] = seen.try_emplace(parameter.tensor.unsafeGetTensorImpl(), parameter.name);
      if (!fresh)
        throw ContractError(
            fmt::format("parameter '{}' is in the groups twice (also as '{}'); a tied parameter belongs in "
                        "once, under its first name",
                        parameter.name, found->second));
    }
  if (seen.empty()) throw ContractError("the parameter groups are empty: there is nothing to train");
}

}  // namespace

struct OptimizationStepper::State {
  std::vector<ParameterGroup> groups;
  StepperOptions options;
  FlatStore* store = nullptr;
  std::optional<LeafTree> tree;
  std::unique_ptr<FlatOptimizer> optimizer;
  double learning_rate = 0;
  std::int64_t steps = 0, skipped = 0, consecutive_skips = 0;
  const losses::Loss* checked_loss = nullptr;
  std::vector<NamedTensor> unowned;  // trainable parameters of the loss that no group holds

  std::vector<Batch> leaves_of(const ShardedBatch& batch) const;
  losses::Totals merged_totals(const losses::Loss& loss, const std::vector<Batch>& leaves);
  void run_leaf(losses::Loss& loss, const Batch& leaf, const losses::Totals& totals,
                const LeafTree::Step& step, LeafOutputs& outputs);
  void check_coverage(losses::Loss& loss);
  void find_unowned(losses::Loss& loss);
  StepResult finish(losses::Loss& loss, const losses::Totals& totals, LeafOutputs& outputs, Votes votes);
  StepResult skip(const Agreement& agreed, double norm, bool losses_finite);
  void apply(double norm, const std::vector<std::int64_t>& received);
};

OptimizationStepper::OptimizationStepper(std::vector<ParameterGroup> groups, const StepperOptions& options)
    : state_(std::make_unique<State>()) {
  check_options(options);
  check_groups(groups);
  state_->learning_rate = groups.front().options.learning_rate;
  state_->groups = std::move(groups);
  state_->options = options;
}

OptimizationStepper::~OptimizationStepper() = default;

const StepperOptions& OptimizationStepper::options() const noexcept {
  return state_->options;
}
const std::vector<ParameterGroup>& OptimizationStepper::groups() const noexcept {
  return state_->groups;
}

void OptimizationStepper::attach(FlatStore& store, const LeafTree& tree) {
  if (state_->store != nullptr)
    throw ContractError("this stepper already belongs to a learner; make one for each");
  state_->store = &store;
  state_->tree = tree;
  state_->optimizer = std::make_unique<FlatOptimizer>(state_->groups, store);
}

// Cuts each shard's rows into `accumulation` leaves, as even as rows allow.
std::vector<Batch> OptimizationStepper::State::leaves_of(const ShardedBatch& batch) const {
  const std::int64_t k = options.accumulation;
  if (batch.size() * static_cast<std::size_t>(k) != tree->leaves())
    throw ContractError(fmt::format("a batch of {} shards was given; this rank owns {}", batch.size(),
                                    tree->leaves() / static_cast<std::size_t>(k)));
  std::vector<Batch> leaves;
  for (const Batch& shard : batch)
    for (std::int64_t j = 0; j < k; ++j)
      leaves.push_back(k == 1 ? shard : shard.slice(shard.rows() * j / k, shard.rows() * (j + 1) / k));
  return leaves;
}

losses::Totals OptimizationStepper::State::merged_totals(const losses::Loss& loss,
                                                         const std::vector<Batch>& leaves) {
  losses::Totals totals;
  {
    const at::NoGradGuard no_gradient;
    for (const Batch& leaf : leaves) loss.add_totals(leaf, totals);
  }
  StepMessage message(store->collectives());
  for (auto& [name, sum] : totals) message.add(sum);
  message.exchange();
  return totals;
}

void OptimizationStepper::State::find_unowned(losses::Loss& loss) {
  unowned = trainable_parameters(loss.module());
  std::erase_if(unowned, [&](const NamedTensor& candidate) {
    return std::ranges::any_of(groups, [&](const ParameterGroup& group) {
      return std::ranges::any_of(
          group.parameters, [&](const NamedTensor& owned) { return owned.tensor.is_same(candidate.tensor); });
    });
  });
  checked_loss = &loss;
}

// A parameter that the loss differentiates but no group holds would silently never be trained.
void OptimizationStepper::State::check_coverage(losses::Loss& loss) {
  if (checked_loss != &loss) find_unowned(loss);
  std::vector<std::string> missed;
  for (const NamedTensor& parameter : unowned) {
    if (!parameter.tensor.grad().defined()) continue;
    missed.push_back(parameter.name);
    parameter.tensor.mutable_grad().reset();
  }
  if (missed.empty()) return;
  const std::size_t shown = std::min<std::size_t>(missed.size(), 5);
  const std::string more = missed.size() > shown ? fmt::format(" and {} more", missed.size() - shown) : "";
  missed.resize(shown);
  throw ContractError(
      fmt::format("the loss differentiates parameters that no optimizer group holds: {}{}; add them to a "
                  "group, or set requires_grad to false",
                  fmt::join(missed, ", "), more));
}

void OptimizationStepper::State::run_leaf(losses::Loss& loss, const Batch& leaf, const losses::Totals& totals,
                                          const LeafTree::Step& step, LeafOutputs& outputs) {
  const losses::Outputs forward = loss.forward(leaf, totals);
  const at::Tensor total = total_loss(forward);
  store->begin_leaf(step);
  try {
    if (total.requires_grad()) total.backward();
    check_coverage(loss);
  } catch (...) {
    store->abandon_leaf();
    throw;
  }
  store->end_leaf(step);
  outputs.add(forward);
}

void OptimizationStepper::State::apply(double norm, const std::vector<std::int64_t>& received) {
  if (options.clip_norm > 0) {
    const double coefficient = std::min(1.0, options.clip_norm / (norm + clip_epsilon));
    if (coefficient < 1.0) store->scale(coefficient);
  }
  for (std::size_t group = 0; group < groups.size(); ++group)
    if (received[group] > 0) optimizer->step(group);
  store->refresh();
}

StepResult OptimizationStepper::State::skip(const Agreement& agreed, double norm, bool losses_finite) {
  ++skipped;
  ++consecutive_skips;
  std::int64_t first = static_cast<std::int64_t>(store->first_non_finite());
  store->collectives().all_reduce(&first, 1, Dtype::int64, comm::ReduceOp::min).wait();
  const auto index = static_cast<std::size_t>(first);
  const std::string cause =
      !losses_finite ? "a loss is not finite" : fmt::format("the gradient norm is {}", norm);
  const std::string where =
      index < store->parameter_count()
          ? fmt::format("; first parameter with a non-finite gradient: {}", store->parameter_name(index))
          : "";
  log::info(fmt::format("step skipped after step {}: {}{}; skipped in a row: {}", steps, cause, where,
                        consecutive_skips));
  if (consecutive_skips > options.max_skips)
    throw NumericError(fmt::format(
        "{} steps in a row were skipped (learner.max_skips = {}): {}{}; lower the learning rate, or look "
        "at the data",
        consecutive_skips, options.max_skips, cause, where));
  return {.metrics = {{"skipped", 1.0}}, .agreed = agreed, .stepped = false};
}

StepResult OptimizationStepper::State::finish(losses::Loss& loss, const losses::Totals& totals,
                                              LeafOutputs& outputs, Votes votes) {
  const fault::Action injected = fault::at("step", static_cast<std::uint64_t>(steps));
  if (injected == fault::Action::nan && !store->owned().empty())
    store->owned().front().gradients.narrow(0, 0, 1).fill_(std::nan(""));
  store->reduce();

  ExactSum squares = store->squared_norm();
  std::int64_t stop = votes.stop, save_failed = votes.save_failed;
  std::vector<std::int64_t> received;
  for (std::size_t group = 0; group < groups.size(); ++group) received.push_back(store->received(group));
  StepMessage message(store->collectives());
  message.add(squares);
  outputs.join(message);
  message.add_vote(stop);
  message.add_vote(save_failed);
  for (std::int64_t& vote : received) message.add_vote(vote);
  message.exchange();

  const double norm = std::sqrt(squares.value());
  const bool losses_finite = outputs.losses_finite();
  const Agreement agreed{
      .finite = losses_finite && std::isfinite(norm), .stop = stop > 0, .save_failed = save_failed > 0};
  if (!agreed.finite) return skip(agreed, norm, losses_finite);
  apply(norm, received);
  ++steps;
  consecutive_skips = 0;
  StepResult result{.metrics = loss.finish(outputs.values(), totals), .agreed = agreed, .stepped = true};
  result.metrics["grad_norm"] = norm;
  return result;
}

StepResult OptimizationStepper::update(losses::Loss& loss, const ShardedBatch& batch, Votes votes) {
  State& s = *state_;
  const std::vector<Batch> leaves = s.leaves_of(batch);
  const losses::Totals totals = s.merged_totals(loss, leaves);
  LeafOutputs outputs;
  s.store->begin_step();
  for (std::size_t i = 0; i < leaves.size(); ++i)
    s.run_leaf(loss, leaves[i], totals, s.tree->step(i), outputs);
  return s.finish(loss, totals, outputs, votes);
}

losses::Metrics OptimizationStepper::evaluate(losses::Loss& loss, const ShardedBatch& batch) {
  State& s = *state_;
  const std::vector<Batch> leaves = s.leaves_of(batch);
  const losses::Totals totals = s.merged_totals(loss, leaves);
  LeafOutputs outputs;
  const at::NoGradGuard no_gradient;
  for (const Batch& leaf : leaves) outputs.add(loss.forward(leaf, totals));
  StepMessage message(s.store->collectives());
  outputs.join(message);
  message.exchange();
  return loss.finish(outputs.values(), totals);
}

void OptimizationStepper::set_learning_rate(double learning_rate) {
  state_->learning_rate = learning_rate;
  for (std::size_t group = 0; group < state_->groups.size(); ++group)
    state_->optimizer->set_learning_rate(group, learning_rate);
}
double OptimizationStepper::learning_rate() const {
  return state_->learning_rate;
}
std::int64_t OptimizationStepper::steps() const noexcept {
  return state_->steps;
}
std::int64_t OptimizationStepper::skipped() const noexcept {
  return state_->skipped;
}

StateView OptimizationStepper::state() {
  StateView view = state_->optimizer->state();
  view.add_whole("training/counters/steps", Dtype::int64, {}, &state_->steps);
  view.add_whole("training/counters/skipped", Dtype::int64, {}, &state_->skipped);
  view.add_whole("training/counters/consecutive_skips", Dtype::int64, {}, &state_->consecutive_skips);
  return view;
}

}  // namespace lockstep::learner
