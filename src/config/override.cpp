#include "override.hpp"

#include <algorithm>

#include "deck_scan.hpp"

namespace lockstep::config {
namespace {

std::string without_spaces(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

}  // namespace

std::vector<Override> parse_overrides(const std::vector<std::string>& texts, std::vector<std::string>* notes,
                                      std::vector<std::string>& problems) {
  std::vector<Override> overrides;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string place = "--set " + shortened(text);
    if (equals == std::string::npos || without_spaces(text.substr(0, equals)).empty()) {
      problems.push_back(place + ": must be section.key=value");
      continue;
    }
    Override given{without_spaces(text.substr(0, equals)), text.substr(equals + 1), place};
    const auto same = std::find_if(overrides.begin(), overrides.end(),
                                   [&](const Override& o) { return o.key == given.key; });
    if (same == overrides.end()) {
      overrides.push_back(std::move(given));
      continue;
    }
    if (notes) notes->push_back(same->place + ": given twice, the later " + place + " is used");
    *same = std::move(given);
  }
  return overrides;
}

}  // namespace lockstep::config
