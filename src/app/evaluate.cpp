// lockstep evaluate: the greedy policy of a checkpoint.
#include <spdlog/fmt/fmt.h>

#include <cstdio>

#include "commands.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/log.hpp"
#include "resume.hpp"
#include "startup.hpp"

namespace lockstep::app {
int run_evaluate(const EvaluateCommand& command, int argc, char** argv) {
  Runtime runtime(argc, argv, {});
  const auto collectives = starting_collectives();
  const std::string path = find_named_checkpoint(*collectives, command.checkpoint);
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
