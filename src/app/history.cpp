#include "history.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "lockstep/core/error.hpp"

namespace lockstep::app {
namespace {

constexpr double null = std::numeric_limits<double>::quiet_NaN();
constexpr std::array counts{"round", "step", "environment_steps", "episodes", "skipped"};

nlohmann::ordered_json number(const std::string& name, double value) {
  if (!std::isfinite(value)) return nullptr;
  if (std::ranges::find(counts, name) != counts.end()) return static_cast<std::int64_t>(value);
  return value;
}

}  // namespace

History::History(std::map<std::string, std::vector<double>> columns) : columns_(std::move(columns)) {
  if (columns_.empty()) return;
  rows_ = columns_.begin()->second.size();
  for (const auto& [name, column] : columns_)
    if (column.size() != rows_)
      throw ContractError(
          fmt::format("history column '{}' has {} rows, others {}", name, column.size(), rows_));
}

void History::append(const Row& row) {
  for (const auto& [name, value] : row) columns_.try_emplace(name, rows_, null);
  for (auto& [name, column] : columns_) {
    const auto found = row.find(name);
    column.push_back(found == row.end() ? null : found->second);
  }
  ++rows_;
}

void History::set_last(const std::string& metric, double value) {
  columns_.try_emplace(metric, rows_, null).first->second.back() = value;
}

History::Row History::row(std::size_t index) const {
  Row row;
  for (const auto& [name, column] : columns_) row[name] = column.at(index);
  return row;
}

std::string json_line(const History::Row& row, const std::map<std::string, double>& timings) {
  nlohmann::ordered_json line;
  constexpr std::array first{"round", "step", "environment_steps", "return_mean", "episodes"};
  for (const char* name : first)
    if (const auto found = row.find(name); found != row.end()) line[name] = number(name, found->second);
  for (const auto& [name, value] : row)
    if (!line.contains(name) && !std::isnan(value)) line[name] = number(name, value);
  for (const auto& [name, value] : timings) line["timings"][name] = number(name, value);
  return line.dump();
}

}  // namespace lockstep::app
