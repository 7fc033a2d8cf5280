#include "lockstep/data/device_work.hpp"

namespace lockstep {

comm::DeviceWork device_work() {
  return {};
}

}  // namespace lockstep
