// The checkpoints/ folder: which files are in it, which may go.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockstep::checkpoint {

// Rounds of the regular files in `directory` that are named like checkpoints, ascending; symbolic links do
// not count. None when the folder is missing. Throws IoError when it cannot be read.
std::vector<std::int64_t> rounds_in(const std::string& directory);

// Which of `rounds` may be removed once `written` is published: all but the newest `keep` up to it and the
// multiples of `keep_every` (0: none). Rounds after `written` are left alone: a run resumed from before them
// replaces them one by one.
std::vector<std::int64_t> rounds_to_prune(std::span<const std::int64_t> rounds, std::int64_t written,
                                          std::int64_t keep, std::int64_t keep_every);

std::string temporary_path(const std::string& directory, const std::string& name);  // <directory>/.<name>.tmp
// Removes the regular files that only an interrupted writer leaves behind. Throws IoError.
void sweep_temporaries(const std::string& directory);

}  // namespace lockstep::checkpoint
