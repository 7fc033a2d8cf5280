#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <limits>
#include <sstream>

#include "lockstep/core/error.hpp"
#include "lockstep/core/version.hpp"

namespace lockstep::app {
namespace {

// As the deck's keys for shards and episodes.
constexpr std::int64_t most_counted = std::int64_t{1} << 20;

constexpr const char* footer =
    "Exit codes: 0 done, 1 failed while running, 2 bad input, 3 stopped with work left and a checkpoint "
    "written.\n"
    "Start several ranks with `mpirun -n RANKS lockstep train DECK`, or srun.";

void add_overrides(CLI::App* command, std::vector<std::string>& overrides) {
  command->add_option("--set", overrides, "Override a deck key: section.key=value (again for more)")
      ->take_all()
      ->allow_extra_args(false);
}

}  // namespace

Command parse_command_line(int argc, char** argv) {
  CLI::App parser("Lockstep trains reinforcement-learning policies, the same bits on any number of ranks.",
                  "lockstep");
  parser.require_subcommand(1);
  parser.footer(footer);
  parser.set_version_flag("--version", std::string(version()));

  TrainCommand train;
  CLI::App* train_parser =
      parser.add_subcommand("train", "Train what a deck describes; go on where a run stopped");
  train_parser->add_option("deck", train.deck, "Deck (TOML)")->required();
  add_overrides(train_parser, train.overrides);
  train_parser->add_option("--output", train.output, "Run directory; beats run.output");
  train_parser
      ->add_option(
          "--resume", train.resume,
          "auto: newest valid checkpoint of the run directory; never; or a checkpoint file or run directory")
      ->capture_default_str();

  CheckCommand check;
  CLI::App* check_parser =
      parser.add_subcommand("check", "Validate a deck; print the effective deck and what a run costs");
  check_parser->add_option("deck", check.deck, "Deck (TOML)")->required();
  add_overrides(check_parser, check.overrides);
  check_parser->add_option("--ranks", check.ranks, "Ranks to check for; the launcher's by default")
      ->check(CLI::Range(std::int64_t{1}, most_counted));

  EvaluateCommand evaluate;
  CLI::App* evaluate_parser =
      parser.add_subcommand("evaluate", "Play the greedy policy of a checkpoint; prints key value lines");
  evaluate_parser->add_option("checkpoint", evaluate.checkpoint, "Checkpoint file or run directory")
      ->required();
  evaluate_parser->add_option("--episodes", evaluate.episodes, "Episodes; the deck's by default")
      ->check(CLI::Range(std::int64_t{1}, most_counted));
  evaluate_parser->add_option("--seed", evaluate.seed, "Seed of the episodes; the deck's by default")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()));

  KeysCommand keys;
  CLI::App* keys_parser = parser.add_subcommand("keys", "Print the deck reference");
  keys_parser->add_option("section", keys.section, "One section only");
  keys_parser->add_flag("--markdown", keys.markdown, "As docs/deck.md");
  CLI::App* list_parser =
      parser.add_subcommand("list", "Print algorithms, environments, networks, backends and fault sites");

  try {
    parser.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    const int code = parser.exit(error, out, err);
    return NoCommand{.text = out.str() + err.str(),
                     .code = code == 0 ? 0 : static_cast<int>(ExitCode::bad_input)};
  }
  if (train_parser->parsed()) return train;
  if (check_parser->parsed()) return check;
  if (evaluate_parser->parsed()) return evaluate;
  if (keys_parser->parsed()) return keys;
  if (list_parser->parsed()) return ListCommand{};
  return NoCommand{.text = parser.help(), .code = static_cast<int>(ExitCode::bad_input)};
}

}  // namespace lockstep::app
