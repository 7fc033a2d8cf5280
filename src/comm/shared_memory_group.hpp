// Private: how the ranks of a node meet. Every collective is a row of phases; in each, a rank writes what it
// offers, posts the phase's number, waits until all ranks posted it, and reads what the others offer.
//
// A rank posts phase p + 1 only after it finished reading in phase p. So whoever has seen all ranks at p + 1
// may overwrite what it offered in p: two slots, used in turn, suffice, and one wait a phase.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lockstep/comm/collectives.hpp"
#include "peers.hpp"
#include "shared_windows.hpp"

namespace lockstep::comm {

// What a rank says about the collective it is in, compared with every other rank's in every phase.
struct CallMark {
  Kind kind;
  Dtype dtype;
  std::uint16_t detail;  // root or reduction
  std::uint64_t bytes;
  std::uint64_t allocation;  // of the window, 0 for none
  std::uint64_t offset;
  friend bool operator==(const CallMark&, const CallMark&) = default;
  std::string text() const;
};

class SharedMemoryGroup {
 public:
  // Collective. Null on all ranks, with the reason in `problem`, when the segment cannot be made.
  static std::shared_ptr<SharedMemoryGroup> make(Collectives& bootstrap, const std::string& name,
                                                 std::string& problem);

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  // Bytes of a slot; a multiple of 64 times the ranks.
  std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  // The rank's slot of the phase that this rank writes next or has posted last.
  std::byte* slot_to_write() const noexcept { return slot(rank_, phase_ + 1); }
  const std::byte* slot_to_read(int rank) const noexcept { return slot(rank, phase_); }

  void post(const CallMark& mark) noexcept;
  // Whether all ranks posted this rank's phase. Throws CommError when one of them is in another call.
  bool all_arrived();
  bool arrived(int rank) const noexcept;

  const Peers& peers() const noexcept { return peers_; }
  // More ranks than cores: a spinning rank would keep the one it waits for from running.
  bool crowded() const noexcept { return crowded_; }

 private:
  struct Line;
  SharedMemoryGroup(Collectives& bootstrap, std::shared_ptr<SymmetricSegments> control,
                    std::size_t slot_bytes);
  Line& line(int rank) const noexcept;
  std::byte* slot(int rank, std::uint64_t phase) const noexcept;
  void compare_marks(int rank) const;

  int rank_;
  int size_;
  std::size_t slot_bytes_;
  std::shared_ptr<SymmetricSegments> control_;
  Peers peers_;
  bool crowded_;
  std::uint64_t phase_ = 0;  // posted last
  int seen_ = 0;             // ranks 0 .. seen_-1 are known to have posted it
};

}  // namespace lockstep::comm
