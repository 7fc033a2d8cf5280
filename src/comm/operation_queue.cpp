#include "operation_queue.hpp"

#include <utility>

namespace lockstep::comm {

// What a Request holds: its place in the queue. Waiting for it means waiting for the operation in front.
class OperationQueue::Queued : public Operation {
 public:
  Queued(std::shared_ptr<OperationQueue> queue, std::shared_ptr<Entry> entry)
      : queue_(std::move(queue)), entry_(std::move(entry)) {}

  bool progress() override {
    if (!entry_->done) queue_->advance();
    return entry_->done;
  }
  std::string_view what() const noexcept override { return entry_->operation->what(); }
  void check() override { front().check(); }
  void give_up(const std::string& cause) noexcept override {
    for (const auto& entry : queue_->entries_) entry->operation->give_up(cause);
  }
  std::string missing() override { return front().missing(); }
  Patience patience() const noexcept override { return entry_->operation->patience(); }

 private:
  Operation& front() { return *queue_->entries_.front()->operation; }

  std::shared_ptr<OperationQueue> queue_;
  std::shared_ptr<Entry> entry_;
};

Request OperationQueue::start(std::unique_ptr<Operation> operation, double deadline_s) {
  auto entry = std::make_shared<Entry>(Entry{std::move(operation)});
  entries_.push_back(entry);
  advance();
  if (entry->done) return {};
  return {std::make_unique<Queued>(shared_from_this(), std::move(entry)), deadline_s};
}

void OperationQueue::advance() {
  if (also_) also_();
  while (!entries_.empty() && entries_.front()->operation->progress()) {
    entries_.front()->done = true;
    entries_.pop_front();
  }
}

}  // namespace lockstep::comm
