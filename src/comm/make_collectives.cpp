#include <spdlog/fmt/fmt.h>

#include <utility>

#include "lockstep/core/error.hpp"
#include "lockstep/core/log.hpp"
#include "mpi_collectives.hpp"
#include "nccl/nccl_backend.hpp"
#include "shared_memory_collectives.hpp"

namespace lockstep::comm {

std::vector<std::string_view> collective_backends() {
  std::vector<std::string_view> names{"mpi", "shared_memory"};
  if (nccl_is_built()) names.emplace_back("nccl");
  return names;
}

std::unique_ptr<Collectives> make_collectives(Communicator communicator, std::string_view backend,
                                              double deadline_s, const DeviceWork& device_work) {
  if (backend != "auto" && backend != "mpi" && backend != "shared_memory" && backend != "nccl") {
    throw ContractError(
        fmt::format("no collectives backend \"{}\"; there are auto, mpi, shared_memory, nccl", backend));
  }
  if (!(deadline_s > 0))
    throw ContractError(fmt::format("collectives: a deadline of {} s; above 0 is needed", deadline_s));
  auto mpi = std::make_unique<MpiCollectives>(std::move(communicator), deadline_s);
  if (backend == "mpi" || (backend == "auto" && mpi->size() == 1)) return mpi;
  if (backend == "nccl") return make_nccl_collectives(std::move(mpi), device_work);
  std::string problem;
  if (auto shared = SharedMemoryCollectives::make(mpi, problem)) return shared;
  if (backend == "shared_memory") throw CommError("collectives over shared memory: " + problem);
  log::info(fmt::format("collectives: MPI, not shared memory ({})", problem));
  mpi->reset_traffic();
  return mpi;
}

}  // namespace lockstep::comm
