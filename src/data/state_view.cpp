#include "lockstep/data/state_view.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lockstep/core/error.hpp"

namespace lockstep {

std::uint64_t StateEntry::elements() const noexcept {
  std::uint64_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::uint64_t>(size);
  return count;
}

void StateView::add_whole(std::string name, Dtype dtype, std::vector<std::int64_t> shape, void* data,
                          bool here) {
  if (find(name)) throw ContractError("state already holds '" + name + "'; every name must be unique");
  StateEntry entry{std::move(name), dtype, std::move(shape), {}};
  const std::uint64_t count = entry.elements();
  if (here && count > 0) entry.extents.push_back({0, count, static_cast<std::byte*>(data)});
  entries.push_back(std::move(entry));
}

void StateView::append(StateView other) {
  for (const StateEntry& entry : other.entries) {
    if (find(entry.name)) {
      throw ContractError("state already holds '" + entry.name + "'; every name must be unique");
    }
  }
  std::move(other.entries.begin(), other.entries.end(), std::back_inserter(entries));
}

const StateEntry* StateView::find(const std::string& name) const noexcept {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const StateEntry& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

std::string escape_name(const std::string& part) {
  std::string escaped;
  escaped.reserve(part.size());
  for (const char c : part) {
    if (c == '/') {
      escaped += "%2F";
    } else if (c == '%') {
      escaped += "%25";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string unescape_name(const std::string& part) {
  std::string plain;
  plain.reserve(part.size());
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '%') {
      plain += part[i];
      continue;
    }
    const std::string code = part.substr(i, 3);
    if (code != "%2F" && code != "%25") {
      throw ContractError("'" + part + "' is not an escaped name: '" + code + "' should be %2F or %25");
    }
    plain += code == "%2F" ? '/' : '%';
    i += 2;
  }
  return plain;
}

}  // namespace lockstep
