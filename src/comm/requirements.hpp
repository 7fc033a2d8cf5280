// Private: checks of arguments that every backend makes, before any message.
#pragma once

#include <cstddef>
#include <span>

#include "lockstep/comm/collectives.hpp"

namespace lockstep::comm {

// Throws ContractError, naming the call, unless 0 <= rank < size.
void require_rank(Kind call, int rank, int size);
// Throws ContractError unless a gather's root has room for every rank's bytes.
void require_room(std::span<const std::byte> data, std::span<std::byte> out, int size);
// Throws ContractError unless 0 <= tag <= 16383.
void require_tag(Kind call, int tag);

}  // namespace lockstep::comm
