// Private: Collectives over MPI alone; any ranks, on any nodes.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "lockstep/comm/collectives.hpp"
#include "mpi_operations.hpp"
#include "operation_queue.hpp"

namespace lockstep::comm {

class MpiCollectives final : public Collectives {
 public:
  MpiCollectives(Communicator communicator, double deadline_s);
  ~MpiCollectives() override;

  std::string_view backend() const noexcept override { return "mpi"; }
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

  // Forgets what was counted so far, when that was the set-up of something else.
  void reset_traffic() noexcept { traffic_ = {}; }

  // For a backend that is built on this one, whose operations stand in one queue with MPI's and are numbered
  // with them.
  Call next_call(Kind kind, std::uint64_t bytes) noexcept;
  Request start(std::unique_ptr<Operation> operation) {
    return queue_->start(std::move(operation), deadline_s_);
  }
  MpiGroup& group() noexcept { return *group_; }
  void while_waiting(std::function<void()> advance) { queue_->also(std::move(advance)); }

 private:
  std::uint64_t sequence_ = 0;
  std::shared_ptr<MpiGroup> group_;
  std::shared_ptr<OperationQueue> queue_ = std::make_shared<OperationQueue>();
};

}  // namespace lockstep::comm
