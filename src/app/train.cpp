// lockstep train: deck, collectives, algorithm, run directory, resume, loop, end.
#include <spdlog/fmt/fmt.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "commands.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/fault.hpp"
#include "lockstep/core/log.hpp"
#include "lockstep/staging/buffer.hpp"
#include "resume.hpp"
#include "startup.hpp"
#include "training.hpp"

namespace lockstep::app {
namespace {

constexpr std::size_t longest_file_name = 255;

// Refused here, before training, rather than when the first checkpoint is due.
void check_run_path(const std::string& path) {
  for (const auto& part : std::filesystem::path(path))
    if (part.native().size() > longest_file_name)
      throw InputError(
          fmt::format("the run directory's name '{}...' has {} bytes; file systems take {} at most, choose a "
                      "shorter --output",
                      part.native().substr(0, 40), part.native().size(), longest_file_name));
}

std::string run_path(const TrainCommand& command, const LoadedDeck& loaded) {
  if (!command.output.empty()) return command.output;
  return loaded.deck.run.output.empty() ? "runs/" + loaded.name : loaded.deck.run.output;
}

std::int64_t plan_rounds(const config::Deck& deck) {
  const config::PlannedRounds planned = algorithms::planned_rounds(deck);
  if (planned.rounded)
    log::info(fmt::format("run.environment_steps = {} is rounded up to {} whole rounds",
                          *deck.run.environment_steps, planned.rounds));
  return planned.rounds;
}

void tell_about_length(const RunState& state, std::int64_t planned) {
  if (state.counters.horizon == planned) return;
  log::info(fmt::format(
      "run length: {} -> {} rounds; linear schedules fall over the first {} rounds, the length when the run "
      "began, and keep their last value after it",
      state.counters.horizon, planned, state.counters.horizon));
}

std::unique_ptr<MetricsFile> open_metrics(const RunDirectory& directory,
                                          const std::optional<MetricsFile::Mark>& mark,
                                          const RunState& state) {
  if (!mark) return std::make_unique<MetricsFile>(MetricsFile::start(directory.metrics()));
  const std::size_t lines =
      state.history.rows() - static_cast<std::size_t>(state.counters.evaluation_pending);
  auto file =
      std::make_unique<MetricsFile>(MetricsFile::resume(directory.metrics(), *mark, state.history, lines));
  if (file->rewritten())
    log::info(fmt::format("'{}' is written anew from the checkpoint's history, without timings",
                          directory.metrics()));
  return file;
}

// A run that is done already has nothing to append, but its metrics.jsonl may have been damaged since. A
// checkpoint of another run directory says nothing about this one's file.
void mend_metrics(const RunDirectory& directory, const std::string& from,
                  const std::optional<MetricsFile::Mark>& mark, const RunState& state) {
  std::error_code ignored;
  const auto folder = std::filesystem::path(from).parent_path();
  if (std::filesystem::equivalent(folder, directory.checkpoints(), ignored))
    open_metrics(directory, mark, state)->sync();
}

}  // namespace

int run_train(const TrainCommand& command, int argc, char** argv) {
  Runtime runtime(argc, argv, {});
  fault::configure(runtime.rank());
  staging::tune_allocator();
  const auto starting = starting_collectives();
  const LoadedDeck loaded = load_deck(*starting, command.deck, command.overrides);
  const config::Deck& deck = loaded.deck;
  const auto collectives = make_collectives(runtime, deck.runtime);
  const std::int64_t planned = plan_rounds(deck);
  if (deck.learner.reduction == "fast")
    log::info("learner.reduction = fast: the same bits only on the same number of ranks");

  RunDirectory directory(*collectives, run_path(command, loaded));
  comm::agreed(*collectives, [&] { check_run_path(directory.path()); });
  directory.lock_existing();
  const auto from = find_checkpoint(*collectives, directory, command.resume);
  const auto algorithm = algorithms::make_algorithm(deck, *collectives);
  RunState state{
      .counters = {.round = 0, .environment_steps = 0, .horizon = planned, .evaluation_pending = 0},
      .history = {}};
  std::optional<MetricsFile::Mark> mark;
  if (from) {
    mark = resume_run(*collectives, *from, deck, runtime.arithmetic(), *algorithm, state);
    if (state.counters.round < planned) tell_about_length(state, planned);
    if (!deck.run.initialize_from.empty()) log::info("the resumed checkpoint wins over run.initialize_from");
  } else if (!deck.run.initialize_from.empty()) {
    initialize_model(*collectives, find_named_checkpoint(*collectives, deck.run.initialize_from),
                     algorithm->policy().module());
  }
  if (state.counters.round >= planned && state.counters.evaluation_pending == 0) {
    log::info(
        fmt::format("nothing to do: {} rounds are done, {} are asked for", state.counters.round, planned));
    if (collectives->rank() == 0) mend_metrics(directory, *from, mark, state);
    runtime.finish();
    return static_cast<int>(ExitCode::done);
  }

  directory.open(config::effective_deck(deck));
  const std::unique_ptr<MetricsFile> metrics =
      collectives->rank() == 0 ? open_metrics(directory, mark, state) : nullptr;
  log::info(fmt::format("training {} on {}: {} rounds, run directory '{}'", deck.algorithm.name,
                        deck.environment.name, planned, directory.path()));
  const ExitCode code =
      Training(runtime, *collectives, deck, *algorithm, directory, state, metrics.get(), planned).run();
  log::info(code == ExitCode::done
                ? fmt::format("done: {} rounds", state.counters.round)
                : fmt::format("stopped after round {} of {}; the same command goes on from here",
                              state.counters.round, planned));
  runtime.finish();
  return static_cast<int>(code);
}

}  // namespace lockstep::app
