// Private: which GPU a rank takes.
#pragma once

#include "../mpi_collectives.hpp"

namespace lockstep::comm {

// Collective over `mpi`. The GPU of this rank's number among the ranks of its node; where the launcher shows
// each rank a GPU of its own (one visible), that one. CommError on all ranks, naming each rank and what it
// lacks, when a rank sees no GPU (or no driver), when a node has more ranks than GPUs, or when two ranks
// would share one. Makes the device current for the calling thread.
int choose_device(MpiCollectives& mpi);

}  // namespace lockstep::comm
