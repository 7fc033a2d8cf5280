// The command line, parsed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace lockstep::app {

struct TrainCommand {
  std::string deck;
  std::vector<std::string> overrides;
  std::string output;           // "": the deck's
  std::string resume = "auto";  // "auto" | "never" | a checkpoint file or run directory
};
struct CheckCommand {
  std::string deck;
  std::vector<std::string> overrides;
  std::optional<std::int64_t> ranks;
};
struct EvaluateCommand {
  std::string checkpoint;  // a file, or a run directory
  std::optional<std::int64_t> episodes, seed;
};
struct KeysCommand {
  std::string section;
  bool markdown = false;
};
struct ListCommand {};
// Nothing to run: --help and the like. `text` is what to print, `code` the exit code.
struct NoCommand {
  std::string text;
  int code = 0;
};

using Command =
    std::variant<NoCommand, TrainCommand, CheckCommand, EvaluateCommand, KeysCommand, ListCommand>;

// Local. A command line that does not parse gives NoCommand with the message and code 2.
Command parse_command_line(int argc, char** argv);

}  // namespace lockstep::app
