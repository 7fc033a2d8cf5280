// Constants and property lists that the two sides of the format share.
#pragma once

#include <cstddef>

#include "checkpoint/hdf5/handle.hpp"

namespace lockstep::checkpoint::hdf5 {

inline constexpr const char* version_attribute = "format_version";
inline constexpr const char* round_attribute = "round";
inline constexpr const char* hash_attribute = "xxh3_128";
inline constexpr std::size_t hash_digits = 32;

// Access properties of a file: format bounds v110; no locks, which shared file systems often refuse (the run
// directory has a lock of its own, and published files never change).
Handle file_access();

}  // namespace lockstep::checkpoint::hdf5
