#include "nearest.hpp"

#include <algorithm>
#include <numeric>

namespace lockstep::config {
namespace {

char folded(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '-' ? '_' : c;
}

// More edits than this make another name, not a mistyped one.
std::size_t near_enough(std::string_view name) {
  return std::max<std::size_t>(2, name.size() / 3);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  std::iota(previous.begin(), previous.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = folded(a[i - 1]) == folded(b[j - 1]);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (same ? 0 : 1)});
      const bool swapped =
          i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]);
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    before.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& names) {
  const std::string* nearest = nullptr;
  std::size_t distance = 0;
  for (const std::string& candidate : names) {
    const std::size_t limit = near_enough(candidate);
    if (name.size() > candidate.size() + limit) continue;
    const std::size_t edits = edit_distance(name, candidate);
    if (edits > limit || edits >= std::max(name.size(), candidate.size())) continue;
    if (nearest && edits >= distance) continue;
    nearest = &candidate;
    distance = edits;
  }
  return nearest ? "; did you mean " + *nearest + "?" : "";
}

}  // namespace lockstep::config
