#include "lockstep/learner/optimization_stepper.hpp"

#include <ATen/core/grad_mode.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "coverage.hpp"
#include "leaf_outputs.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/fault.hpp"
#include "lockstep/core/log.hpp"
#include "lockstep/nn/hand_backward.hpp"
#include "mixed_precision.hpp"
#include "step_message.hpp"
#include "stepper_checks.hpp"

namespace lockstep::learner {
namespace {

// Gradients added below the norm in the clip coefficient, as torch.nn.utils.clip_grad_norm_ does.
constexpr double clip_epsilon = 1e-6;

}  // namespace

struct OptimizationStepper::State {
  explicit State(const StepperOptions& chosen) : options(chosen), scale(chosen.precision) {}

  std::vector<ParameterGroup> groups;
  StepperOptions options;
  Store* store = nullptr;
  std::int64_t own_shards = 0;
  std::unique_ptr<FlatOptimizer> optimizer;
  LossScale scale;
  Coverage coverage;
  double learning_rate_factor = 1.0;
  std::int64_t steps = 0, skipped = 0, consecutive_skips = 0;
  std::int64_t window_calls = 0;     // micro-batches of the open window
  bool window_losses_finite = true;  // of its earlier calls

  bool due(const ParameterGroup& group) const { return (steps + 1) % group.every == 0; }
  void set_due(losses::Loss& loss) const;
  void check_shards(const ShardedBatch& batch) const;
  std::vector<Batch> leaves_of(const ShardedBatch& batch) const;
  losses::Totals merged_totals(const losses::Loss& loss, const std::vector<Batch>& leaves);
  void run_leaf(losses::Loss& loss, const Batch& leaf, const losses::Totals& totals, double weight,
                LeafOutputs& outputs);
  StepResult finish(losses::Loss& loss, const losses::Totals& totals, LeafOutputs& outputs, Votes votes);
  StepResult skip(const Agreement& agreed, double norm, bool losses_finite);
  StepResult micro_result(losses::Loss& loss, const losses::Totals& totals, LeafOutputs& outputs,
                          Votes votes);
  void clip(const std::vector<ExactSum>& squares);
  void step_groups(const std::vector<std::int64_t>& received);
  void update_targets(losses::Loss& loss) const;
};

OptimizationStepper::OptimizationStepper(std::vector<ParameterGroup> groups, const StepperOptions& options)
    : state_(std::make_unique<State>(options)) {
  check_options(options);
  check_groups(groups);
  state_->groups = std::move(groups);
}

OptimizationStepper::~OptimizationStepper() = default;

const StepperOptions& OptimizationStepper::options() const noexcept {
  return state_->options;
}
const std::vector<ParameterGroup>& OptimizationStepper::groups() const noexcept {
  return state_->groups;
}

void OptimizationStepper::attach(Store& store, std::size_t own_shards, losses::Loss& loss) {
  State& s = *state_;
  if (s.store != nullptr) throw ContractError("this stepper already belongs to a learner; make one for each");
  const std::vector<std::string> given = loss.loss_names();
  for (const ParameterGroup& group : s.groups)
    if (!group.loss.empty() && std::ranges::find(given, group.loss) == given.end())
      throw ContractError(fmt::format(
          "parameter group '{}' is trained by '{}', which this loss does not give; it gives: {}", group.name,
          group.loss, given.empty() ? "none by name" : fmt::format("{}", fmt::join(given, ", "))));
  s.store = &store;
  s.own_shards = static_cast<std::int64_t>(own_shards);
  s.optimizer = std::make_unique<FlatOptimizer>(s.groups, store);
  s.coverage = Coverage(loss, s.groups);
}

// A loss whose group rests in this step is not computed either.
void OptimizationStepper::State::set_due(losses::Loss& loss) const {
  if (std::ranges::all_of(groups, [](const ParameterGroup& group) { return group.every == 1; })) return;
  std::vector<std::string> names = loss.loss_names();
  for (const ParameterGroup& group : groups)
    if (!due(group)) std::erase(names, group.loss);
  loss.set_due(names);
}

void OptimizationStepper::State::check_shards(const ShardedBatch& batch) const {
  if (static_cast<std::int64_t>(batch.size()) != own_shards)
    throw ContractError(
        fmt::format("a batch of {} shards was given; this rank owns {}", batch.size(), own_shards));
}

// Cuts each shard's rows into `accumulation` leaves, as even as rows allow.
std::vector<Batch> OptimizationStepper::State::leaves_of(const ShardedBatch& batch) const {
  const std::int64_t k = options.accumulation;
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

// `weight` multiplies what is differentiated, not what is reported.
void OptimizationStepper::State::run_leaf(losses::Loss& loss, const Batch& leaf, const losses::Totals& totals,
                                          double weight, LeafOutputs& outputs) {
  losses::Outputs forward;
  store->begin_leaf();
  try {
    {
      const AutocastGuard autocast(options.precision);
      forward = loss.forward(leaf, totals);
    }
    nn::backward(losses_of(forward), weight);
    coverage.check();
  } catch (...) {
    store->abandon_leaf();
    throw;
  }
  store->end_leaf();
  outputs.add(forward);
}

// Groups without a norm of their own are clipped by their common one.
void OptimizationStepper::State::clip(const std::vector<ExactSum>& squares) {
  ExactSum common;
  for (std::size_t group = 0; group < groups.size(); ++group)
    if (!groups[group].clip_norm) common.merge(squares[group]);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const double limit = groups[group].clip_norm.value_or(options.clip_norm);
    if (limit <= 0) continue;
    const double norm = std::sqrt((groups[group].clip_norm ? squares[group] : common).value());
    const double coefficient = std::min(1.0, limit / (norm + clip_epsilon));
    if (coefficient < 1.0) store->scale(group, coefficient);
  }
}

void OptimizationStepper::State::step_groups(const std::vector<std::int64_t>& received) {
  for (std::size_t group = 0; group < groups.size(); ++group)
    if (received[group] > 0 && due(groups[group])) optimizer->step(group);
  store->refresh();
}

void OptimizationStepper::State::update_targets(losses::Loss& loss) const {
  const losses::TargetUpdate update = loss.target_update();
  if (!update.pairs.empty() && steps % update.every == 0) store->follow(update.pairs, update.tau);
}

StepResult OptimizationStepper::State::skip(const Agreement& agreed, double norm, bool losses_finite) {
  ++skipped;
  const bool scale_was_to_blame = losses_finite && scale.bad_step();
  if (!scale_was_to_blame) ++consecutive_skips;
  std::int64_t first = static_cast<std::int64_t>(store->first_non_finite());
  store->collectives().all_reduce(&first, 1, Dtype::int64, comm::ReduceOp::min).wait();
  const auto index = static_cast<std::size_t>(first);
  const std::string cause =
      !losses_finite ? "a loss is not finite" : fmt::format("the gradient norm is {}", norm);
  const std::string where =
      index < store->parameter_count()
          ? fmt::format("; first parameter with a non-finite gradient: {}", store->parameter(index).name)
          : "";
  log::info(fmt::format("step skipped after step {}: {}{}; {}", steps, cause, where,
                        scale_was_to_blame ? fmt::format("loss scale lowered to {}", scale.value())
                                           : fmt::format("skipped in a row: {}", consecutive_skips)));
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

  std::vector<ExactSum> squares;
  std::vector<std::int64_t> received;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    if (scale.value() != 1.0) store->scale(group, 1.0 / scale.value());
    squares.push_back(store->squared_norm(group));
    received.push_back(store->received(group));
  }
  std::int64_t stop = votes.stop, save_failed = votes.save_failed;
  StepMessage message(store->collectives());
  for (ExactSum& sum : squares) message.add(sum);
  outputs.join(message);
  message.add_vote(stop);
  message.add_vote(save_failed);
  for (std::int64_t& vote : received) message.add_vote(vote);
  message.exchange();

  ExactSum all;
  for (const ExactSum& sum : squares) all.merge(sum);
  const double norm = std::sqrt(all.value());
  const bool losses_finite = window_losses_finite && outputs.losses_finite();
  const Agreement agreed{
      .finite = losses_finite && std::isfinite(norm), .stop = stop > 0, .save_failed = save_failed > 0};
  if (!agreed.finite) return skip(agreed, norm, losses_finite);
  clip(squares);
  step_groups(received);
  ++steps;
  consecutive_skips = 0;
  scale.good_step();
  update_targets(loss);
  StepResult result{.metrics = loss.finish(outputs.values(), totals),
                    .agreed = agreed,
                    .stepped = true,
                    .rows = outputs.rows(static_cast<std::size_t>(own_shards))};
  result.metrics["grad_norm"] = norm;
  for (std::size_t group = 0; group < groups.size(); ++group)
    // A group that rested has no gradient; a zero would only pull the mean of a round down.
    if (groups[group].clip_norm && received[group] > 0)
      result.metrics["grad_norm_" + groups[group].name] = std::sqrt(squares[group].value());
  return result;
}

StepResult OptimizationStepper::update(losses::Loss& loss, const ShardedBatch& batch, Votes votes) {
  State& s = *state_;
  s.check_shards(batch);
  if (s.window_calls > 0)
    throw ContractError(
        fmt::format("update was called after {} of {} micro-batches of `accumulate`; complete "
                    "the window first",
                    s.window_calls, s.options.accumulation));
  const std::vector<Batch> leaves = s.leaves_of(batch);
  s.set_due(loss);
  const losses::Totals totals = s.merged_totals(loss, leaves);
  LeafOutputs outputs;
  s.window_losses_finite = true;
  s.store->begin_step(LeafOrder::by_shard);
  for (const Batch& leaf : leaves) s.run_leaf(loss, leaf, totals, s.scale.value(), outputs);
  return s.finish(loss, totals, outputs, votes);
}

// A call that leaves the window open: the micro-batch's own metrics.
StepResult OptimizationStepper::State::micro_result(losses::Loss& loss, const losses::Totals& totals,
                                                    LeafOutputs& outputs, Votes votes) {
  std::int64_t stop = votes.stop, save_failed = votes.save_failed;
  StepMessage message(store->collectives());
  outputs.join(message);
  message.add_vote(stop);
  message.add_vote(save_failed);
  message.exchange();
  window_losses_finite = window_losses_finite && outputs.losses_finite();
  return {.metrics = loss.finish(outputs.values(), totals),
          .agreed = {.finite = window_losses_finite, .stop = stop > 0, .save_failed = save_failed > 0},
          .stepped = false,
          .rows = outputs.rows(static_cast<std::size_t>(own_shards))};
}

StepResult OptimizationStepper::accumulate(losses::Loss& loss, const ShardedBatch& micro_batch, Votes votes) {
  State& s = *state_;
  s.check_shards(micro_batch);
  if (s.window_calls == 0) {
    s.window_losses_finite = true;
    s.set_due(loss);
    s.store->begin_step(LeafOrder::by_call);
  }
  // A call that throws closes the window: what earlier calls accumulated is dropped with it.
  const std::int64_t call = std::exchange(s.window_calls, 0);
  const losses::Totals totals = s.merged_totals(loss, micro_batch);
  LeafOutputs outputs;
  const double weight = s.scale.value() / static_cast<double>(s.options.accumulation);
  for (const Batch& leaf : micro_batch) s.run_leaf(loss, leaf, totals, weight, outputs);
  if (call + 1 == s.options.accumulation) return s.finish(loss, totals, outputs, votes);
  const StepResult result = s.micro_result(loss, totals, outputs, votes);
  s.window_calls = call + 1;
  return result;
}

bool OptimizationStepper::window_open() const noexcept {
  return state_->window_calls > 0;
}

losses::Metrics OptimizationStepper::evaluate(losses::Loss& loss, const ShardedBatch& batch) {
  State& s = *state_;
  s.check_shards(batch);
  const std::vector<Batch> leaves = s.leaves_of(batch);
  const losses::Totals totals = s.merged_totals(loss, leaves);
  LeafOutputs outputs;
  s.store->begin_forward();
  try {
    const at::NoGradGuard no_gradient;
    for (const Batch& leaf : leaves) outputs.add(loss.forward(leaf, totals));
  } catch (...) {
    s.store->end_forward();
    throw;
  }
  s.store->end_forward();
  StepMessage message(s.store->collectives());
  outputs.join(message);
  message.exchange();
  return loss.finish(outputs.values(), totals);
}

void OptimizationStepper::scale_learning_rates(double factor) {
  State& s = *state_;
  s.learning_rate_factor = factor;
  for (std::size_t group = 0; group < s.groups.size(); ++group)
    s.optimizer->set_learning_rate(group, s.groups[group].options.learning_rate * factor);
}
double OptimizationStepper::learning_rate() const {
  return state_->groups.front().options.learning_rate * state_->learning_rate_factor;
}
std::int64_t OptimizationStepper::steps() const noexcept {
  return state_->steps;
}
std::int64_t OptimizationStepper::skipped() const noexcept {
  return state_->skipped;
}

StateView OptimizationStepper::state() {
  if (window_open())
    throw ContractError(
        fmt::format("the state was asked for after {} of {} micro-batches of `accumulate`; "
                    "complete the window first",
                    state_->window_calls, state_->options.accumulation));
  StateView view = state_->optimizer->state();
  view.add_whole("training/counters/steps", Dtype::int64, {}, &state_->steps);
  view.add_whole("training/counters/skipped", Dtype::int64, {}, &state_->skipped);
  view.add_whole("training/counters/consecutive_skips", Dtype::int64, {}, &state_->consecutive_skips);
  state_->scale.add_state(view);
  return view;
}

}  // namespace lockstep::learner
