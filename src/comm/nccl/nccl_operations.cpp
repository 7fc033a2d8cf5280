#include "nccl_operations.hpp"

#include <utility>

namespace lockstep::comm {

NcclOperation::NcclOperation(MpiGroup& group, const Call& call, NcclChannel& channel, cudaStream_t caller,
                             std::vector<NcclChannel::Launch> launches, std::shared_ptr<const void> keeps)
    : MpiOperation(group, call),
      channel_(channel),
      what_(call.text() + " over NCCL"),
      keeps_(std::move(keeps)) {
  marks_->ready.record(caller);
  channel_.enqueue([&channel, marks = marks_] { marks->ready.hold_back(channel.stream()); });
  for (NcclChannel::Launch& launch : launches) channel_.enqueue(std::move(launch));
  // A launch of its own: before NCCL took the last calls, nothing of them may be on the stream yet.
  channel_.enqueue([&channel, marks = marks_] {
    marks->done.record(channel.stream());
    marks->launched = true;
  });
}

bool NcclOperation::progress() {
  channel_.advance();
  if (!marks_->launched || !marks_->done.reached()) return false;
  keeps_.reset();
  return true;
}

struct NcclMailbox::Post {
  std::function<void()> issue;
  CudaEvent ready, done;
  bool launched = false;
};

class NcclMailbox::Message final : public Operation {
 public:
  Message(NcclMailbox& mailbox, std::shared_ptr<Post> post, std::string what)
      : mailbox_(mailbox), post_(std::move(post)), what_(std::move(what)) {}

  bool progress() override {
    mailbox_.advance();
    return post_->launched && post_->done.reached();
  }
  std::string_view what() const noexcept override { return what_; }
  void give_up(const std::string& cause) noexcept override { mailbox_.channel_.abort(cause); }

 private:
  NcclMailbox& mailbox_;
  std::shared_ptr<Post> post_;
  std::string what_;
};

std::unique_ptr<Operation> NcclMailbox::send(std::span<const std::byte> data, int to, cudaStream_t caller,
                                             std::string what) {
  return post(
      [this, data, to] {
        channel_.call(
            ncclSend(data.data(), data.size(), ncclInt8, to, channel_.communicator(), channel_.stream()),
            "ncclSend");
      },
      caller, std::move(what));
}

std::unique_ptr<Operation> NcclMailbox::receive(std::span<std::byte> data, int from, cudaStream_t caller,
                                                std::string what) {
  return post(
      [this, data, from] {
        channel_.call(
            ncclRecv(data.data(), data.size(), ncclInt8, from, channel_.communicator(), channel_.stream()),
            "ncclRecv");
      },
      caller, std::move(what));
}

std::unique_ptr<Operation> NcclMailbox::post(std::function<void()> issue, cudaStream_t caller,
                                             std::string what) {
  auto post = std::make_shared<Post>();
  post->issue = std::move(issue);
  post->ready.record(caller);
  posted_.push_back(post);
  return std::make_unique<Message>(*this, std::move(post), std::move(what));
}

void NcclMailbox::launch(const std::vector<std::shared_ptr<Post>>& posts) {
  for (const auto& post : posts) post->ready.hold_back(channel_.stream());
  channel_.grouped([&] {
    for (const auto& post : posts) post->issue();
  });
}

void NcclMailbox::advance() {
  if (posted_.empty()) return channel_.advance();
  const auto posts = std::exchange(posted_, {});
  channel_.enqueue([this, posts] { launch(posts); });
  channel_.enqueue([this, posts] {
    for (const auto& post : posts) {
      post->done.record(channel_.stream());
      post->launched = true;
    }
  });
}

}  // namespace lockstep::comm
