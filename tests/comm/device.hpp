// The device that the tests of the NCCL backend run on: a GPU, or the double.
#pragma once

#include <cuda_runtime_api.h>

#include "lockstep/comm/device_work.hpp"

namespace lockstep::test {

// Before each Collectives: makes the device ready, and gives what the backend needs of it.
comm::DeviceWork fresh_device();
// The stream of the newest DeviceWork.
cudaStream_t computing_stream();

}  // namespace lockstep::test
