// Where and when this process runs, as text for the log, the lock and the checkpoint.
#pragma once

#include <string>

namespace lockstep {

// The machine's name; "unknown" when the system does not say.
std::string host_name();

// "2026-01-31T08:15:00Z": now, in UTC, to the second.
std::string utc_now();

}  // namespace lockstep
