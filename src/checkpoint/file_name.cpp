#include "lockstep/checkpoint/file_name.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>

#include "lockstep/core/error.hpp"

namespace lockstep::checkpoint {
namespace {

constexpr std::string_view prefix = "round_";
constexpr std::string_view suffix = ".h5";
constexpr std::size_t digits = 10;
constexpr std::int64_t largest_round = 9'999'999'999;

}  // namespace

std::string file_name(std::int64_t round) {
  if (round < 0 || round > largest_round) {
    throw ContractError(
        fmt::format("round {} has no checkpoint name; rounds are 0 to {}", round, largest_round));
  }
  return fmt::format("{}{:010}{}", prefix, round, suffix);
}

std::optional<std::int64_t> round_of(std::string_view name) noexcept {
  if (name.size() != prefix.size() + digits + suffix.size()) return std::nullopt;
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  const std::string_view number = name.substr(prefix.size(), digits);
  if (!std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  std::int64_t round = 0;
  std::from_chars(number.data(), number.data() + number.size(), round);
  return round;
}

}  // namespace lockstep::checkpoint
