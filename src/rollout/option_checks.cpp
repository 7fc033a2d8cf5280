#include "option_checks.hpp"

#include <spdlog/fmt/fmt.h>

#include "lockstep/core/error.hpp"

namespace lockstep::rollout {

void check_positive(const char* what, std::int64_t number) {
  if (number < 1) throw ContractError(fmt::format("{} = {}; it must be at least 1", what, number));
}

void check_divides(const char* what, std::int64_t whole, const char* by, std::int64_t part) {
  if (whole % part == 0) return;
  throw ContractError(fmt::format("{} = {} is no multiple of {} = {}", what, whole, by, part));
}

void check_own_shards(std::int64_t first, std::int64_t stride, std::int64_t own, std::int64_t shards) {
  check_positive("own shards", own);
  check_positive("shard stride", stride);
  const std::int64_t last = first + (own - 1) * stride;
  if (first >= 0 && last < shards) return;
  throw ContractError(fmt::format("own shards {} to {} are not within [0, {})", first, last, shards));
}

}  // namespace lockstep::rollout
