#include "checkpoint/state_names.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "lockstep/core/error.hpp"

namespace lockstep::checkpoint {
namespace {

constexpr std::size_t most_dimensions = 32;

[[noreturn]] void refuse(const StateEntry& entry, const std::string& why) {
  throw ContractError("state entry \"" + entry.name + "\" " + why);
}

void check_parts(const StateEntry& entry) {
  const std::string_view name = entry.name;
  if (!name.starts_with("model/") && !name.starts_with("training/")) {
    refuse(entry, "must be under model/ or training/");
  }
  if (name.find('\0') != std::string_view::npos) refuse(entry, "has a NUL byte in its name");
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part == ".") refuse(entry, "has an empty or \".\" part in its name");
    begin = end + 1;
  }
}

void check_shape(const StateEntry& entry) {
  if (entry.shape.size() > most_dimensions) refuse(entry, "has more than 32 dimensions");
  if (std::any_of(entry.shape.begin(), entry.shape.end(), [](std::int64_t extent) { return extent < 0; })) {
    refuse(entry, "has a negative size");
  }
}

}  // namespace

void check_names(const StateView& state) {
  std::set<std::string> names;
  for (const StateEntry& entry : state.entries) {
    check_parts(entry);
    check_shape(entry);
    if (!names.insert(entry.name).second) refuse(entry, "is given twice");
  }
  for (const StateEntry& entry : state.entries) {
    for (auto slash = entry.name.find('/'); slash != std::string::npos;
         slash = entry.name.find('/', slash + 1)) {
      if (names.contains(entry.name.substr(0, slash))) {
        refuse(entry, "lies in \"" + entry.name.substr(0, slash) + "\", which is a tensor and not a group");
      }
    }
  }
}

}  // namespace lockstep::checkpoint
