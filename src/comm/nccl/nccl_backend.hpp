// Private: the NCCL backend of this build, or the word that there is none; one source or the other is linked.
#pragma once

#include <memory>

#include "../mpi_collectives.hpp"
#include "lockstep/comm/device_work.hpp"

namespace lockstep::comm {

bool nccl_is_built() noexcept;
// Collective. CommError on all ranks where the build has no NCCL or a rank no GPU of its own.
std::unique_ptr<Collectives> make_nccl_collectives(std::unique_ptr<MpiCollectives> mpi, DeviceWork work);

}  // namespace lockstep::comm
