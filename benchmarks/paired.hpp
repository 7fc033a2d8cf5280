// Paired timings: two things in turn, A B A B ..., and the ratio pair by pair, so that a drifting machine
// cancels.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace lockstep::benchmark {

inline double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

struct Bar {
  double value = 0;
  bool at_most = true;  // else at least
};

// "holds" or "missed" by the median; 'not decided' where the 10-90 % range reaches across the bar.
inline std::string verdict(const Bar& bar, double median, double low, double high) {
  const bool holds = bar.at_most ? median <= bar.value : median >= bar.value;
  const bool straddles = low < bar.value && high > bar.value;
  return std::string(holds ? "holds" : "missed") + (straddles ? ", not decided" : "");
}

// One line a figure: the ratio's median, its 10-90 % range, the bar and the verdict.
inline void print_ratio(const std::string& name, const std::vector<double>& ratios, const Bar& bar) {
  const double median = quantile(ratios, 0.5), low = quantile(ratios, 0.1), high = quantile(ratios, 0.9);
  std::fputs(fmt::format("{:<58} {:8.3f}  [{:.3f}, {:.3f}]  bar {} {:.2f}  {}\n", name, median, low, high,
                         bar.at_most ? "<=" : ">=", bar.value, verdict(bar, median, low, high))
                 .c_str(),
             stdout);
  std::fflush(stdout);
}

}  // namespace lockstep::benchmark
