// Private: Collectives of ranks that share a node's memory. Messages between two ranks, and the agreement on
// new segments, go over MPI.
#pragma once

#include <memory>
#include <string>

#include "lockstep/comm/collectives.hpp"
#include "mpi_collectives.hpp"
#include "operation_queue.hpp"
#include "shared_memory_group.hpp"
#include "shared_windows.hpp"

namespace lockstep::comm {

class SharedMemoryCollectives final : public Collectives {
 public:
  // Collective. Takes `mpi` over when all ranks agree that it works; else leaves it, returns null on all
  // ranks and says why in `problem`.
  static std::unique_ptr<SharedMemoryCollectives> make(std::unique_ptr<MpiCollectives>& mpi,
                                                       std::string& problem);

  std::string_view backend() const noexcept override { return "shared_memory"; }
  staging::Buffer allocate(std::size_t bytes) override;
  // Both reductions are the tree: it costs no more here than any other order.
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
  SharedMemoryCollectives(std::unique_ptr<MpiCollectives> mpi, std::string name,
                          std::shared_ptr<SharedMemoryGroup> group);

  std::string next_call(Kind kind, std::uint64_t bytes);
  std::unique_ptr<Operation> make_reduce_scatter(const CallMark& mark, const std::string& what,
                                                 std::byte* data, const Window& window, Slices slices,
                                                 ReduceOp op);
  std::unique_ptr<Operation> make_all_gather(const CallMark& mark, const std::string& what, std::byte* data,
                                             const Window& window, Slices slices);
  Request start(std::unique_ptr<Operation> operation);

  std::string name_;  // of the next segments
  std::uint64_t sequence_ = 0;
  std::unique_ptr<MpiCollectives> mpi_;
  std::shared_ptr<SharedMemoryGroup> group_;
  WindowTable windows_;
  std::shared_ptr<OperationQueue> queue_ = std::make_shared<OperationQueue>();
};

}  // namespace lockstep::comm
