#include "lockstep/config/fitting.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace lockstep::config {

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    low.push_back(d);
    if (d * d != n) high.push_back(n / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

std::string nearest_of(const std::vector<std::int64_t>& legal, std::int64_t value) {
  const auto above = std::upper_bound(legal.begin(), legal.end(), value);
  std::vector<std::int64_t> two;
  if (above != legal.begin()) two.push_back(*(above - 1));
  if (above != legal.end()) two.push_back(*above);
  return fmt::format("{}", fmt::join(two, " or "));
}

std::string nearest_multiples(std::int64_t unit, std::int64_t value) {
  const std::int64_t below = value / unit * unit;
  return below == 0 ? fmt::format("{}", unit) : fmt::format("{} or {}", below, below + unit);
}

}  // namespace lockstep::config
