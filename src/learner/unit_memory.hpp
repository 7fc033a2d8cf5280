// The memory that units are gathered into and their gradients collected in: a few equal buffers, used in
// turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/staging/buffer.hpp"

namespace lockstep::learner {

// All ranks take and give back in the same order, so that a buffer lies at the same place on every rank. One
// that took part in a collective is handed out again only after a later collective: peers may still read it
// until then (comm/collectives.hpp).
class UnitMemory {
 public:
  UnitMemory(comm::Collectives& collectives, std::size_t bytes_each)
      : collectives_(collectives), bytes_each_(bytes_each) {}

  // Whether `take` finds a buffer without making one.
  bool has_free() const noexcept { return find_free() < places_.size(); }
  // Collective where a buffer is made. The place of a free buffer; contents are as the last user left them.
  std::size_t take();
  void give_back(std::size_t place) noexcept { places_[place].free = true; }
  std::byte* data(std::size_t place) noexcept { return places_[place].buffer.data(); }
  // A collective over the buffer has completed here.
  void used(std::size_t place) noexcept { places_[place].used_at = ++collectives_done_; }
  void used_elsewhere() noexcept { ++collectives_done_; }

 private:
  struct Place {
    staging::Buffer buffer;
    bool free = false;
    std::uint64_t used_at = 0;
  };
  std::size_t find_free() const noexcept;  // places_.size() when there is none

  comm::Collectives& collectives_;
  std::size_t bytes_each_;
  std::uint64_t collectives_done_ = 1;
  std::vector<Place> places_;
};

}  // namespace lockstep::learner
