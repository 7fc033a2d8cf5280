// Private: Collectives of ranks with a GPU each. Device memory goes over NCCL, on a stream of its own; host
// memory goes over MPI, which never sees device memory.
#pragma once

#include <memory>

#include "../mpi_collectives.hpp"
#include "lockstep/comm/device_work.hpp"
#include "nccl_launches.hpp"
#include "nccl_operations.hpp"

namespace lockstep::comm {

class NcclCollectives final : public Collectives {
 public:
  // Collective. Takes `mpi` over. CommError on all ranks where a rank has no GPU of its own.
  NcclCollectives(std::unique_ptr<MpiCollectives> mpi, DeviceWork work);
  ~NcclCollectives() override;

  std::string_view backend() const noexcept override { return "nccl"; }
  // Host memory, for MPI: device memory is the caller's own.
  staging::Buffer allocate(std::size_t bytes) override;
  Request reduce_scatter(void* data, std::span<const std::size_t> cuts, Dtype dtype,
                         Reduction reduction) override;
  Request all_gather(void* data, std::span<const std::size_t> cuts, Dtype dtype) override;
  Request all_reduce(void* data, std::size_t count, Dtype dtype, ReduceOp op) override;
  Request broadcast(std::span<std::byte> data, int root) override;
  Request gather(std::span<const std::byte> data, std::span<std::byte> out, int root) override;
  Request send(std::span<const std::byte> data, int to, int tag) override;
  Request receive(std::span<std::byte> data, int from, int tag) override;
  Request barrier() override;

 private:
  using Launches = std::vector<NcclChannel::Launch>;

  Request start(Kind kind, std::size_t bytes, Launches launches, std::shared_ptr<const void> keeps = {});
  std::shared_ptr<ExactReduceScatter> exact(std::byte* data, Slices slices, Kind kind, Launches& launches);
  // Counts a call that MPI carries out as its own.
  void count_over_mpi(Kind kind, const Traffic& before);
  cudaStream_t caller() const;

  std::unique_ptr<MpiCollectives> mpi_;
  DeviceWork work_;
  int device_;
  DevicePool pool_;
  std::unique_ptr<NcclChannel> channel_;
  std::unique_ptr<NcclMailbox> mailbox_;
};

}  // namespace lockstep::comm
