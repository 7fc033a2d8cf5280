#include "checkpoint/comparison.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>

namespace lockstep::checkpoint {
namespace {

constexpr std::size_t most_named = 5;

std::string text_of(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string summary(const char* kind, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  const std::size_t named = std::min(names.size(), most_named);
  std::string text = fmt::format("; {}: {}", kind, fmt::join(names.begin(), names.begin() + named, ", "));
  if (names.size() > named) text += fmt::format(" and {} more", names.size() - named);
  return text;
}

}  // namespace

Comparison::Comparison(const std::vector<const StateEntry*>& wanted,
                       const std::vector<const DatasetInfo*>& stored) {
  std::map<std::string_view, const DatasetInfo*> left;
  for (const DatasetInfo* info : stored) left.emplace(info->name, info);
  for (const StateEntry* entry : wanted) {
    const auto found = left.find(entry->name);
    if (found == left.end()) {
      missing_.push_back(entry->name);
      continue;
    }
    const DatasetInfo& info = *found->second;
    if (info.dtype != entry->dtype) {
      other_dtype_.push_back(
          fmt::format("{} (file {}, wanted {})", info.name, to_string(info.dtype), to_string(entry->dtype)));
    }
    if (info.shape != entry->shape) {
      other_shape_.push_back(
          fmt::format("{} (file {}, wanted {})", info.name, text_of(info.shape), text_of(entry->shape)));
    }
    left.erase(found);
  }
  for (const auto& [name, info] : left) unexpected_.emplace_back(name);
}

bool Comparison::equal() const noexcept {
  return missing_.empty() && unexpected_.empty() && other_dtype_.empty() && other_shape_.empty();
}

std::string Comparison::report(const std::string& path) const {
  return fmt::format("checkpoint {} does not fit what it is loaded into{}{}{}{}", path,
                     summary("missing", missing_), summary("unexpected", unexpected_),
                     summary("other shape", other_shape_), summary("other dtype", other_dtype_));
}

}  // namespace lockstep::checkpoint
