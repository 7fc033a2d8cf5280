// Private: the collective operations of one Collectives in flight, advanced and completed in the order of
// their start.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "lockstep/comm/request.hpp"

namespace lockstep::comm {

class OperationQueue : public std::enable_shared_from_this<OperationQueue> {
 public:
  // Adds the operation, advances the queue once, and returns the request for it.
  Request start(std::unique_ptr<Operation> operation, double deadline_s);
  // `advance` is called whenever the queue is, first: for what goes on beside the queue.
  void also(std::function<void()> advance) { also_ = std::move(advance); }
  bool empty() const noexcept { return entries_.empty(); }

 private:
  class Queued;
  struct Entry {
    std::unique_ptr<Operation> operation;
    bool done = false;
  };

  void advance();

  std::deque<std::shared_ptr<Entry>> entries_;
  std::function<void()> also_;
};

}  // namespace lockstep::comm
