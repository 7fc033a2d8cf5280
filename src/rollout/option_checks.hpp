// Checks of a source's options. ContractError naming the numbers.
#pragma once

#include <cstdint>

namespace lockstep::rollout {

void check_positive(const char* what, std::int64_t number);
void check_divides(const char* what, std::int64_t whole, const char* by, std::int64_t part);
// first, first + stride, ..., `own` of them, are some of the shards, and not none.
void check_own_shards(std::int64_t first, std::int64_t stride, std::int64_t own, std::int64_t shards);

}  // namespace lockstep::rollout
