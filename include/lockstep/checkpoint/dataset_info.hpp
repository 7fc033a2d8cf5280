// One dataset as a file holds it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/core/dtype.hpp"

namespace lockstep::checkpoint {

struct DatasetInfo {
  std::string name;  // "model/actor.0.weight"
  Dtype dtype = Dtype::float32;
  std::vector<std::int64_t> shape;  // empty is a scalar
};

}  // namespace lockstep::checkpoint
