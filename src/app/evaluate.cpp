// lockstep evaluate: the greedy policy of a checkpoint.
#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "commands.hpp"
#include "lockstep/checkpoint/checkpoint.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/log.hpp"
#include "resume.hpp"
#include "startup.hpp"

namespace lockstep::app {
namespace {

// A run directory stands for its newest valid checkpoint.
std::string checkpoint_file(comm::Collectives& collectives, const std::string& path) {
  std::error_code ignored;
  int folder = std::filesystem::is_directory(path, ignored) ? 1 : 0;
  collectives.broadcast(std::as_writable_bytes(std::span(&folder, 1)), 0).wait();
  if (folder == 0) return path;
  const auto newest = checkpoint::newest_valid(collectives, path + "/checkpoints");
  comm::agreed(collectives, [&] {
    if (!newest)
      throw CheckpointError(
          fmt::format("'{}' holds no checkpoint; give a checkpoint file or a run directory", path));
  });
  return *newest;
}

}  // namespace

int run_evaluate(const EvaluateCommand& command, int argc, char** argv) {
  Runtime runtime(argc, argv, {});
  const auto collectives = starting_collectives();
  const std::string path = checkpoint_file(*collectives, command.checkpoint);
  const config::Deck deck = deck_of_checkpoint(*collectives, path);
  runtime.set_threads(static_cast<int>(deck.runtime.threads));
  const auto policy = algorithms::make_policy(deck);
  initialize_model(*collectives, path, policy->module());
  const auto result =
      policy->evaluate(*collectives, command.episodes.value_or(deck.evaluation.episodes),
                       static_cast<std::uint64_t>(command.seed.value_or(deck.evaluation.seed)),
                       [&] { return runtime.stop_requested(); });
  if (result.abandoned) {
    log::info("evaluation stopped by a signal");
    runtime.finish();
    return static_cast<int>(ExitCode::failed);
  }
  if (collectives->rank() == 0)
    std::fputs(
        fmt::format(
            "episodes {}\nreturn_std {:.4f}\nreturn_min {:.4f}\nreturn_max {:.4f}\nreturn_mean {:.4f}\n",
            result.episodes, result.return_std, result.return_min, result.return_max, result.return_mean)
            .c_str(),
        stdout);
  runtime.finish();
  return 0;
}

}  // namespace lockstep::app
