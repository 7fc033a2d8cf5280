// What a checkpoint holds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lockstep/data/state_view.hpp"

namespace lockstep::checkpoint {

inline constexpr std::int64_t format_version = 1;

// What is written. Names in `state` start with "model/" or "training/" and are unique; no name is also the
// group of another. State and round are equal on all ranks but for the extents.
struct Contents {
  StateView state;
  std::int64_t round = 0;  // 0 to 9,999,999,999
  std::map<std::string, std::vector<double>>
      history;  // /history/<metric>, one value a round, NaN for null; rank 0's
  std::map<std::string, std::string> provenance;  // /provenance/<key>, UTF-8 text; rank 0's are written
};

}  // namespace lockstep::checkpoint
