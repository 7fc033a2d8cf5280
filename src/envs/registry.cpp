#include "registry.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "lockstep/core/error.hpp"

namespace lockstep::envs {
namespace {

struct Entry {
  std::unique_ptr<Environment> (*make)();
  EnvironmentSpec spec;
};

using Registry = std::map<std::string, Entry, std::less<>>;

Registry build_registry() {
  Registry registry;
  const auto add = [&](auto* make) {
    EnvironmentSpec spec = make()->spec();
    const std::string name = spec.name;
    registry.emplace(name, Entry{make, std::move(spec)});
  };
#define LOCKSTEP_REGISTER(name) add(&make_##name);
  LOCKSTEP_ENVIRONMENTS(LOCKSTEP_REGISTER)
#undef LOCKSTEP_REGISTER
  return registry;
}

const Registry& registry() {
  static const Registry built = build_registry();
  return built;
}

// Levenshtein's distance, by rows.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

const Entry& find(std::string_view name) {
  if (const auto found = registry().find(name); found != registry().end()) return found->second;
  std::vector<std::string> names = environment_names();
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return edit_distance(a, name) < edit_distance(b, name);
  });
  throw InputError(fmt::format("no environment named \"{}\"; there are {}", name, fmt::join(names, ", ")));
}

}  // namespace

std::unique_ptr<Environment> make_environment(std::string_view name) {
  return find(name).make();
}

std::vector<std::string> environment_names() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : registry()) names.push_back(name);
  return names;
}

const EnvironmentSpec& environment_spec(std::string_view name) {
  return find(name).spec;
}

}  // namespace lockstep::envs
