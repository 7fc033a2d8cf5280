#include "nccl_backend.hpp"

#include <utility>

#include "nccl_collectives.hpp"

namespace lockstep::comm {

bool nccl_is_built() noexcept {
  return true;
}

std::unique_ptr<Collectives> make_nccl_collectives(std::unique_ptr<MpiCollectives> mpi, DeviceWork work) {
  return std::make_unique<NcclCollectives>(std::move(mpi), std::move(work));
}

}  // namespace lockstep::comm
