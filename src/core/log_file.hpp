// Private to core: what the top-level catch has told the terminal itself goes into the log file too.
#pragma once

#include <string_view>

namespace lockstep::log {

void file_only(std::string_view message);

}  // namespace lockstep::log
