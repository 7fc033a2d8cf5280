// Brings the bytes of a state to rank 0, chunk after chunk, through two staging buffers a rank.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/data/gather_plan.hpp"
#include "lockstep/data/state_view.hpp"
#include "lockstep/staging/buffer.hpp"

namespace lockstep {

// Knows no file: what arrives is handed to a sink. While rank 0 handles one chunk the next is on its way.
class Gather {
 public:
  // Takes a piece's bytes, in stream order. Called on rank 0 alone.
  using Sink = std::function<void(const Piece&, std::span<const std::byte>)>;

  Gather(comm::Collectives& collectives, std::size_t chunk_bytes);

  // Collective. `at_chunk` is called on every rank before a chunk is packed or handled. What sink or at_chunk
  // throw is thrown here, on that rank only, once all ranks have left the exchange: rank 0's failure ends it
  // early.
  void run(const StateView& state, const GatherPlan& plan, const Sink& sink,
           const std::function<void()>& at_chunk);

 private:
  comm::Collectives& collectives_;
  staging::BufferPool pool_;
};

}  // namespace lockstep
