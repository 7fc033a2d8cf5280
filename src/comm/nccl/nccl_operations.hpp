// Private: operations on device memory as Requests see them. The host learns of the end by asking an event.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../mpi_operations.hpp"
#include "nccl_channel.hpp"

namespace lockstep::comm {

// A row of launches on a channel, behind the work that is on the caller's stream when it is made.
class NcclOperation final : public MpiOperation {
 public:
  // `launches` run in their order. `keeps`: what must live until the operation is complete.
  NcclOperation(MpiGroup& group, const Call& call, NcclChannel& channel, cudaStream_t caller,
                std::vector<NcclChannel::Launch> launches, std::shared_ptr<const void> keeps);

  bool progress() override;
  std::string_view what() const noexcept override { return what_; }
  void give_up(const std::string& cause) noexcept override { channel_.abort(cause); }
  Patience patience() const noexcept override { return {.spins = 200}; }

 private:
  // The launches outlive an operation that was given up.
  struct Marks {
    CudaEvent ready, done;
    bool launched = false;
  };
  NcclChannel& channel_;
  std::string what_;
  std::shared_ptr<Marks> marks_ = std::make_shared<Marks>();
  std::shared_ptr<const void> keeps_;
};

// Messages between two ranks, on a channel of their own, so that no collective waits for one. NCCL knows no
// tags and runs a rank's messages one group after the other: what was posted together goes in one group,
// since two ranks that send to each other would wait for each other in two.
class NcclMailbox {
 public:
  NcclMailbox(const ncclUniqueId& id, int rank, int size, double deadline_s)
      : channel_(id, rank, size, deadline_s, "messages") {}

  std::unique_ptr<Operation> send(std::span<const std::byte> data, int to, cudaStream_t caller,
                                  std::string what);
  std::unique_ptr<Operation> receive(std::span<std::byte> data, int from, cudaStream_t caller,
                                     std::string what);
  // Launches what was posted.
  void advance();

 private:
  class Message;
  struct Post;
  std::unique_ptr<Operation> post(std::function<void()> issue, cudaStream_t caller, std::string what);
  void launch(const std::vector<std::shared_ptr<Post>>& posts);

  NcclChannel channel_;
  std::vector<std::shared_ptr<Post>> posted_;
};

}  // namespace lockstep::comm
