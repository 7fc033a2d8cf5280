// A GPU as the device, with LibTorch's stream and sums.
#include "device.hpp"
#include "lockstep/data/device_work.hpp"
#include "places.hpp"

namespace lockstep::test {

comm::DeviceWork fresh_device() {
  return device_work();
}

cudaStream_t computing_stream() {
  return static_cast<cudaStream_t>(device_work().current_stream());
}

void expect_rules_kept() {}

}  // namespace lockstep::test
