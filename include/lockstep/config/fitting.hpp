// The counts around a wrong one that would fit, for messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::config {

// Ascending; n > 0.
std::vector<std::int64_t> divisors(std::int64_t n);

// Of ascending `legal`, the last at or below `value` and the first above it: "32 or 64".
std::string nearest_of(const std::vector<std::int64_t>& legal, std::int64_t value);

// The multiples of `unit` around `value`, from `unit` on: "32 or 64".
std::string nearest_multiples(std::int64_t unit, std::int64_t value);

}  // namespace lockstep::config
