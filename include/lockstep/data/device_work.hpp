// What LibTorch does on a GPU for the collectives.
#pragma once

#include "lockstep/comm/device_work.hpp"

namespace lockstep {

// LibTorch's current stream, and at::add_out on the stream that the collectives name. Empty functions in a
// build without a CUDA LibTorch, where no tensor lies on a GPU.
comm::DeviceWork device_work();

}  // namespace lockstep
