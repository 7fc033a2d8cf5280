// For builds where NCCL's header or library was not found.
#include "lockstep/core/error.hpp"
#include "nccl_backend.hpp"

namespace lockstep::comm {

bool nccl_is_built() noexcept {
  return false;
}

std::unique_ptr<Collectives> make_nccl_collectives(std::unique_ptr<MpiCollectives>, DeviceWork) {
  throw CommError(
      "collectives over NCCL: this build has none; run `bash jobs/setup.sh` and configure with "
      "-DLOCKSTEP_NCCL=ON");
}

}  // namespace lockstep::comm
