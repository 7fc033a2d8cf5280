// Fault injection for tests: LOCKSTEP_FAULT=site:rank:step:action makes a named site misbehave once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lockstep::fault {

enum class Action { none, throw_error, kill, stop, nan, flip, delay };

// Every site that the program passes, for `lockstep list`.
const std::vector<std::string_view>& sites();

// Reads LOCKSTEP_FAULT once for this rank. Throws InputError when it is malformed or names no known site.
void configure(int rank);

// Called where the site is. throw_error throws Error("injected fault at SITE"), kill raises SIGKILL, stop
// raises SIGSTOP, delay sleeps 200 ms; nan and flip are returned for the caller to carry out. `step` counts
// from 0. Does nothing (one load and branch) when no fault is set, and in a build with LOCKSTEP_FAULTS=OFF.
Action at(std::string_view site, std::uint64_t step);

}  // namespace lockstep::fault
