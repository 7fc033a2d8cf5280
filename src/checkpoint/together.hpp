// Failures that all ranks share.
#pragma once

#include <functional>

#include "lockstep/comm/collectives.hpp"

namespace lockstep::checkpoint {

// Collective. Runs `body` on every rank. When it threw on any, every rank throws the same IoError: the
// message of the lowest rank that failed, with its number unless that is 0. CommError passes through at once,
// for nothing can be agreed after it.
void together(comm::Collectives& collectives, const std::function<void()>& body);

}  // namespace lockstep::checkpoint
