// Which names a state may have, so that a file can hold it and another program read it.
#pragma once

#include "lockstep/data/state_view.hpp"

namespace lockstep::checkpoint {

// ContractError naming the entry: not under model/ or training/, an empty or "." part, a NUL byte, given
// twice, also the group of another entry, or of more dimensions than HDF5 has (32), or of a negative size.
void check_names(const StateView& state);

}  // namespace lockstep::checkpoint
