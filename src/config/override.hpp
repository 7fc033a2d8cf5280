// What the user gave as --set section.key=value.
#pragma once

#include <string>
#include <vector>

namespace lockstep::config {

struct Override {
  std::string key;    // "section.key"
  std::string value;  // as it stands
  std::string place;  // "--set section.key=value", shortened, for messages
  bool used = false;
};

// One a key, in the order given, the last of two winning; `notes`, where wanted, gets a line for each that
// lost. What is no section.key=value gets a line in `problems`.
std::vector<Override> parse_overrides(const std::vector<std::string>& texts, std::vector<std::string>* notes,
                                      std::vector<std::string>& problems);

}  // namespace lockstep::config
