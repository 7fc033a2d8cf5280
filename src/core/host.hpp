// Private to core: the name of the machine this process runs on.
#pragma once

#include <string>

namespace lockstep {

std::string host_name();

}  // namespace lockstep
