// One collective operation in flight.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace lockstep::comm {

// How a waiting rank spends its time before it starts to sleep between polls.
struct Patience {
  int spins = 0;          // polls that keep the core
  double yield_s = 0.02;  // then so long giving the core away between polls
};

// What a backend implements for an operation: advance without blocking.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual bool progress() = 0;                         // true once complete; may throw CommError
  virtual std::string_view what() const noexcept = 0;  // "reduce_scatter #12, 4096 bytes"

  // Called once when a wait for it ended in an error or an exception unwinds past it: ends, without waiting
  // for anyone, what would otherwise go on in its buffers for ever.
  virtual void give_up(const std::string& /*cause*/) noexcept {}
  // Called about ten times a second while someone waits: throws CommError when a rank that it needs is lost.
  virtual void check() {}
  // Which ranks have not arrived, as a phrase for an error: "rank 1 (pid 7, host b)"; empty when unknown.
  virtual std::string missing() { return {}; }
  virtual Patience patience() const noexcept { return {}; }
};

// Owns the operation and whatever buffers it needs; the caller's memory must live, untouched, until it is
// complete. Must be waited for, before its Collectives is gone; the destructor waits only when it was not and
// no exception is in flight, logs what goes wrong then, and never throws.
class Request {
 public:
  Request() = default;  // complete
  Request(std::unique_ptr<Operation> operation, double deadline_s);
  ~Request();
  Request(Request&&) noexcept;
  Request& operator=(Request&&) noexcept;

  bool test();  // advances once
  // Polls (spin, then yield, then short sleeps). Throws CommError naming the operation, and the ranks that
  // have not arrived where the backend knows them, when `deadline_s` passes; warns at half of it.
  void wait();

 private:
  void wait_slowly(double yield_s);
  void settle() noexcept;
  void abandon(const std::string& cause) noexcept;

  std::unique_ptr<Operation> operation_;
  double deadline_s_ = 0;
};

}  // namespace lockstep::comm
