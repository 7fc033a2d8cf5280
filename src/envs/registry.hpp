// The native environments: one line each, naming the function that makes it (make_<name>, in the file of that
// name).
#pragma once

#include <memory>

#include "lockstep/envs/environment.hpp"

// clang-format off
#define LOCKSTEP_ENVIRONMENTS(X) \
  X(acrobot) \
  X(cart_pole) \
  X(mountain_car) \
  X(mountain_car_continuous) \
  X(pendulum)
// clang-format on

namespace lockstep::envs {

#define LOCKSTEP_DECLARE(name) std::unique_ptr<Environment> make_##name();
LOCKSTEP_ENVIRONMENTS(LOCKSTEP_DECLARE)
#undef LOCKSTEP_DECLARE

}  // namespace lockstep::envs
