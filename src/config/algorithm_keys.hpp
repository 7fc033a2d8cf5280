// Which keys belong to which algorithm.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace lockstep::config {

// "section.key" -> the algorithms whose decks have it, in the order of algorithm_choices.
std::map<std::string, std::vector<std::string>> algorithms_of_keys();

}  // namespace lockstep::config
