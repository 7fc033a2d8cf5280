// What this build is, for the log, the command line and the checkpoints' provenance.
#pragma once

#include <string_view>

namespace lockstep {

std::string_view version() noexcept;   // "0.1.0", CMake's project version
std::string_view revision() noexcept;  // the git revision at configure time, "unknown" outside a repository

}  // namespace lockstep
