// StateMap: full tensors of a state by name, owned and independent of live storage. Only for states that one
// rank can hold; checkpoints of files work on StateView instead.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/data/state_view.hpp"

namespace lockstep {

using StateMap = std::map<std::string, at::Tensor>;

// Collective. Copies of every entry, put together on rank 0; empty elsewhere.
StateMap gather_state(comm::Collectives& collectives, const StateView& state);

// Local. InputError telling, up to five names each, what is missing, unexpected, or of another shape or dtype
// than `wanted` says. Nothing is touched.
void check_state(const StateMap& map, const StateView& wanted);

// Collective. Rank 0's map is written into every rank's extents; entries that the map lacks are left alone.
// Call check_state first.
void scatter_state(comm::Collectives& collectives, const StateMap& map, const StateView& state);

}  // namespace lockstep
