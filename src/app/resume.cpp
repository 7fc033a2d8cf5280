#include "resume.hpp"

#include <spdlog/fmt/fmt.h>

#include <charconv>
#include <filesystem>

#include "lockstep/checkpoint/checkpoint.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/log.hpp"

namespace lockstep::app {
namespace {

// Keys that a run's bits or shapes hang on from its first draw.
bool fixes_the_run(const std::string& key) {
  return key == "run.seed" || key == "learner.shards" || key.starts_with("network.") ||
         key.starts_with("environment.") || key.starts_with("algorithm.") || key.starts_with("replay.");
}

// Optimizers that keep other state than the checkpoint holds could only start from nothing, unnoticed.
bool changes_optimizer_state(const config::Difference& difference) {
  const auto either = [&](const char* value) { return difference.from == value || difference.to == value; };
  return (difference.key == "optimizer.name" && either("\"sgd\"")) ||
         (difference.key == "optimizer.momentum" && either("0.0"));
}

bool concerns_output_only(const std::string& key) {
  return key == "run.output" || key == "run.initialize_from";
}

bool is_folder(comm::Collectives& collectives, const std::string& path) {
  std::error_code ignored;
  return comm::any_rank(collectives, collectives.rank() == 0 && std::filesystem::is_directory(path, ignored));
}

std::string text_of(const std::map<std::string, std::string>& provenance, const std::string& key,
                    const std::string& path) {
  const auto found = provenance.find(key);
  if (found == provenance.end())
    throw CheckpointError(
        fmt::format("'{}' lacks /provenance/{}; it was not written by lockstep train", path, key));
  return found->second;
}

config::Deck parse_stored_deck(const std::map<std::string, std::string>& provenance,
                               const std::string& path) {
  return config::parse_deck(
      {.name = "checkpoint", .path = path + ":/provenance/deck", .bytes = text_of(provenance, "deck", path)},
      {});
}

void compare_with_checkpoint(const config::Deck& stored, const config::Deck& used, const std::string& path) {
  std::string refused;
  for (const config::Difference& difference : config::compare_decks(stored, used)) {
    if (concerns_output_only(difference.key)) continue;
    const std::string line = fmt::format("{}: {} -> {}", difference.key, difference.from, difference.to);
    if (fixes_the_run(difference.key) || changes_optimizer_state(difference))
      refused += "\n  " + line;
    else
      log::info(line);
  }
  if (!refused.empty())
    throw InputError(fmt::format(
        "'{}' belongs to another run; these keys may not change on resume (checkpoint -> deck):{}\n"
        "restore them, or start anew with another --output",
        path, refused));
}

void warn_of_other_arithmetic(const std::string& stored, const std::string& used) {
  if (stored != used)
    log::info(fmt::format("arithmetic: {} -> {}; the run's bits may differ from here on", stored, used));
}

std::uint64_t parse_length(const std::string& text, const std::string& path) {
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size())
    throw CheckpointError(fmt::format("'{}': /provenance/metrics_length is '{}', not a number", path, text));
  return length;
}

// A run directory whose files are all damaged is what --resume FILE can mend: they do not count against the
// file.
std::optional<std::string> newest_if_any(comm::Collectives& collectives, const std::string& folder) {
  try {
    return checkpoint::newest_valid(collectives, folder);
  } catch (const CheckpointError& error) {  // thrown by every rank together
    if (collectives.rank() == 0) log::warning(error.what());
    return std::nullopt;
  }
}

}  // namespace

std::string find_named_checkpoint(comm::Collectives& collectives, const std::string& path) {
  std::optional<std::string> found;
  if (is_folder(collectives, path)) {
    found = checkpoint::newest_valid(collectives, path + "/checkpoints");
  } else {
    comm::agreed(collectives, [&] {
      if (collectives.rank() == 0) checkpoint::verify(path);
    });
    found = path;
  }
  comm::agreed(collectives, [&] {
    if (!found)
      throw CheckpointError(
          fmt::format("'{}' holds no checkpoint; give a checkpoint file or a run directory", path));
  });
  return *found;
}

std::optional<std::string> find_checkpoint(comm::Collectives& collectives, const RunDirectory& directory,
                                           const std::string& choice) {
  if (choice != "auto" && choice != "never") {
    const std::string named = find_named_checkpoint(collectives, choice);
    const auto newest = newest_if_any(collectives, directory.checkpoints());
    comm::agreed(collectives, [&] {
      if (newest && checkpoint::Reader(*newest, true).round() > checkpoint::Reader(named, true).round())
        throw InputError(
            fmt::format("'{}' is older than '{}' in the run directory; give another --output to branch off",
                        named, *newest));
    });
    return named;
  }
  const auto newest = checkpoint::newest_valid(collectives, directory.checkpoints());
  comm::agreed(collectives, [&] {
    if (newest && choice == "never")
      throw InputError(fmt::format(
          "--resume never, but the run directory holds '{}'; give another --output, or remove it", *newest));
  });
  return newest;
}

MetricsFile::Mark resume_run(comm::Collectives& collectives, const std::string& path,
                             const config::Deck& deck, const std::string& arithmetic,
                             algorithms::Algorithm& algorithm, RunState& state) {
  MetricsFile::Mark mark;
  StateView view = run_view(algorithm, state.counters);
  std::optional<checkpoint::Reader> reader;
  comm::agreed(collectives, [&] {
    reader.emplace(path, /*whole_file_verified=*/true);
    const auto provenance = reader->provenance();
    compare_with_checkpoint(parse_stored_deck(provenance, path), deck, path);
    reader->check(view);
    warn_of_other_arithmetic(text_of(provenance, "arithmetic", path), arithmetic);
    mark = {.length = parse_length(text_of(provenance, "metrics_length", path), path),
            .hash = text_of(provenance, "metrics_hash", path)};
    state.history = History(reader->history());
  });
  reader->read(view);
  algorithm.source().unpack();
  if (state.history.rows() != static_cast<std::size_t>(state.counters.round))
    throw CheckpointError(
        fmt::format("'{}': the history has {} rounds, the counters {}; it was not written by lockstep train",
                    path, state.history.rows(), state.counters.round))
        .mark_together();
  // Ranks read each other's parameters in place: none goes on before all have loaded theirs.
  collectives.barrier().wait();
  log::info(fmt::format("resumed from '{}' at round {}", path, state.counters.round));
  return mark;
}

void initialize_model(comm::Collectives& collectives, const std::string& path, torch::nn::Module& module) {
  const StateView view = learner::model_state(module);
  std::optional<checkpoint::Reader> reader;
  comm::agreed(collectives, [&] {
    reader.emplace(path, /*whole_file_verified=*/true);
    reader->check(view, "model/");
  });
  reader->read(view);
  collectives.barrier().wait();
  log::info(fmt::format("model loaded from '{}' (round {})", path, reader->round()));
}

config::Deck deck_of_checkpoint(comm::Collectives& collectives, const std::string& path) {
  config::Deck deck;
  comm::agreed(collectives,
               [&] { deck = parse_stored_deck(checkpoint::Reader(path, true).provenance(), path); });
  return deck;
}

}  // namespace lockstep::app
