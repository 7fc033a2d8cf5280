#include "training.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "lockstep/core/fault.hpp"
#include "lockstep/core/host.hpp"
#include "lockstep/core/log.hpp"
#include "lockstep/core/version.hpp"

namespace lockstep::app {
namespace {

// The mean of each metric over a round's steps; maxima as maxima.
class RoundMetrics {
 public:
  void add(const losses::Metrics& metrics) {
    for (const auto& [name, value] : metrics) {
      auto& [merged, count] = values_[name];
      const bool maximum = losses::merges_by_maximum(name);
      merged = count == 0 ? value : (maximum ? std::max(merged, value) : merged + value);
      ++count;
    }
  }
  void write_into(History::Row& row) const {
    for (const auto& [name, merged] : values_) {
      const auto& [value, count] = merged;
      row[name] =
          losses::merges_by_maximum(name) || name == "skipped" ? value : value / static_cast<double>(count);
    }
  }

 private:
  std::map<std::string, std::pair<double, std::int64_t>> values_;
};

}  // namespace

Training::Training(Runtime& runtime, comm::Collectives& collectives, const config::Deck& deck,
                   algorithms::Algorithm& algorithm, RunDirectory& directory, RunState& state,
                   MetricsFile* metrics, std::int64_t planned_rounds)
    : runtime_(runtime),
      collectives_(collectives),
      deck_(deck),
      algorithm_(algorithm),
      state_(state),
      metrics_(metrics),
      planned_rounds_(planned_rounds),
      progress_(collectives.rank() == 0, planned_rounds) {
  comm::agreed(collectives, [&] {
    writer_.emplace(collectives, checkpoint::WriterOptions{.directory = directory.checkpoints(),
                                                           .keep = deck.checkpoint.keep,
                                                           .keep_every = deck.checkpoint.keep_every});
  });
}

bool Training::evaluation_due() const {
  const std::int64_t every = deck_.evaluation.every;
  return state_.counters.round == planned_rounds_ || (every > 0 && state_.counters.round % every == 0);
}

bool Training::checkpoint_due() const {
  const std::int64_t every =
      deck_.checkpoint.every > 0 ? deck_.checkpoint.every : std::max<std::int64_t>(planned_rounds_ / 10, 1);
  return state_.counters.round == planned_rounds_ || state_.counters.round % every == 0;
}

// The source acts with whole weights, whatever the learner shards.
std::unique_ptr<rollout::Round> Training::collect() {
  const auto lent = algorithm_.learner().lend_weights();
  return algorithm_.source().collect();
}

// One collection and every step made from it.
History::Row Training::run_round(bool& stop) {
  const double started = now_seconds();
  algorithm_.schedule({.round = state_.counters.round, .horizon = state_.counters.horizon});
  const auto round = collect();
  const double collected = now_seconds();

  RoundMetrics metrics;
  ShardedBatch batch;
  while (round->next(batch)) {
    const learner::StepResult result =
        algorithm_.learner().update(batch, {.stop = runtime_.stop_requested()});
    round->feedback(result);
    metrics.add(result.metrics);
    stop = stop || result.agreed.stop;
  }
  // A step carries the ranks' wish to stop; a round without steps has to ask for it.
  if (round->steps() == 0) stop = comm::any_rank(collectives_, runtime_.stop_requested()) || stop;
  rollout::CollectionStatistics seen = round->statistics();
  std::array sums{seen.return_sum, seen.episodes};
  comm::merge_sums(collectives_, sums);

  state_.counters.round += 1;
  state_.counters.environment_steps += seen.environment_steps;
  const double episodes = sums[1].value();
  History::Row row{{"round", static_cast<double>(state_.counters.round)},
                   {"step", static_cast<double>(algorithm_.learner().stepper().steps())},
                   {"environment_steps", static_cast<double>(state_.counters.environment_steps)},
                   {"episodes", episodes},
                   {"return_mean", episodes > 0 ? sums[0].value() / episodes : std::nan("")},
                   {"learning_rate", algorithm_.learner().stepper().learning_rate()}};
  metrics.write_into(row);
  timings_["collect_s"] = collected - started;
  timings_["update_s"] = now_seconds() - collected;
  return row;
}

// Evaluates the last round; false when a stop was agreed meanwhile: it is then run again on resume.
bool Training::evaluate_pending() {
  const double started = now_seconds();
  const auto lent = algorithm_.learner().lend_weights();
  const auto result = algorithm_.policy().evaluate(collectives_, deck_.evaluation.episodes,
                                                   static_cast<std::uint64_t>(deck_.evaluation.seed),
                                                   [this] { return runtime_.stop_requested(); });
  if (result.abandoned) return false;
  state_.history.set_last("evaluation_return_mean", result.return_mean);
  state_.counters.evaluation_pending = 0;
  timings_["evaluate_s"] = now_seconds() - started;
  return true;
}

void Training::record() {
  fault::at("record", static_cast<std::uint64_t>(state_.counters.round));
  const History::Row row = state_.history.row(state_.history.rows() - 1);
  progress_.round_done(row);
  if (metrics_ == nullptr) return;
  if (progress_.steps_per_second() > 0) timings_["environment_steps_per_s"] = progress_.steps_per_second();
  metrics_->append(row, timings_);
  timings_.clear();
}

void Training::save() {
  const double started = now_seconds();
  algorithm_.source().pack();
  checkpoint::Contents contents{.state = run_view(algorithm_, state_.counters),
                                .round = state_.counters.round,
                                .history = {},
                                .provenance = {}};
  if (metrics_ != nullptr) {
    const MetricsFile::Mark mark = metrics_->sync();
    contents.history = state_.history.columns();
    contents.provenance = {{"deck", config::effective_deck(deck_)},
                           {"metrics_length", std::to_string(mark.length)},
                           {"metrics_hash", mark.hash},
                           {"version", std::string(version())},
                           {"host", runtime_.host()},
                           {"ranks", std::to_string(collectives_.size())},
                           {"collectives", std::string(collectives_.backend())},
                           {"arithmetic", runtime_.arithmetic()},
                           {"written", utc_now()}};
  }
  writer_->write(contents);
  saved_round_ = state_.counters.round;
  timings_["checkpoint_s"] = now_seconds() - started;
}

ExitCode Training::run() {
  bool stop = false;
  if (state_.counters.evaluation_pending != 0) {
    if (!evaluate_pending()) return ExitCode::stopped;  // the checkpoint it came from still says so
    record();
  }
  while (state_.counters.round < planned_rounds_) {
    state_.history.append(run_round(stop));
    if (evaluation_due()) {
      state_.counters.evaluation_pending = 1;
      stop = !evaluate_pending() || stop;
    }
    if (state_.counters.evaluation_pending == 0) record();
    if (stop) break;
    if (checkpoint_due()) save();
  }
  if (saved_round_ != state_.counters.round) save();
  progress_.clear();
  const bool finished = state_.counters.round >= planned_rounds_ && state_.counters.evaluation_pending == 0;
  return finished ? ExitCode::done : ExitCode::stopped;
}

}  // namespace lockstep::app
