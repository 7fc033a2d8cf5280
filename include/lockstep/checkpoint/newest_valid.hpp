// Finds the checkpoint to go on from.
#pragma once

#include <optional>
#include <string>

#include "lockstep/comm/collectives.hpp"

namespace lockstep::checkpoint {

// Collective. Rank 0 scans `directory` for the newest file that verifies, logs why newer ones were refused
// where an older one is good, and all ranks get its path. The pointer `latest` is only a hint: where it
// disagrees, the log says so. Symbolic links and files of other names are ignored. nullopt when there is no
// folder or no checkpoint file in it. Throws CheckpointError on all ranks when files exist and none is good
// (with every reason; nothing is logged then), or when the folder cannot be read.
std::optional<std::string> newest_valid(comm::Collectives& collectives, const std::string& directory);

}  // namespace lockstep::checkpoint
