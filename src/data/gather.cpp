#include "lockstep/data/gather.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <vector>

namespace lockstep {
namespace {

constexpr int message_tag = 0x0c50;
constexpr int root = 0;

// One run of a gather: both roles go through the same loop and differ in start and finish.
class Exchange {
 public:
  Exchange(comm::Collectives& collectives, staging::BufferPool& pool, const StateView& state,
           const GatherPlan& plan)
      : collectives_(collectives), pool_(pool), state_(state), plan_(plan) {}
  virtual ~Exchange() = default;

  void run() {
    for (Slot& slot : slots_) slot.buffer = pool_.take();
    if (plan_.chunks() > 0) start(0);
    for (std::size_t chunk = 0; chunk < plan_.chunks(); ++chunk) {
      const bool more = rank_0_goes_on();
      if (more && chunk + 1 < plan_.chunks()) start(chunk + 1);
      finish(chunk);
      if (!more) break;
    }
    for (Slot& slot : slots_) pool_.give_back(std::move(slot.buffer));
    if (failure_) std::rethrow_exception(failure_);
  }

 protected:
  // One chunk under way. The requests are destroyed before the buffer that they use.
  struct Slot {
    staging::Buffer buffer;
    std::vector<comm::Request> requests;
  };

  virtual void start(std::size_t chunk) = 0;
  virtual void finish(std::size_t chunk) = 0;

  Slot& slot(std::size_t chunk) noexcept { return slots_[chunk % slots_.size()]; }
  void wait(std::size_t chunk) {
    for (comm::Request& request : slot(chunk).requests) request.wait();
    slot(chunk).requests.clear();
  }

  std::size_t bytes_of(const Piece& piece) const noexcept {
    return piece.length * size_of(state_.entries[piece.entry].dtype);
  }
  // A piece's bytes in this rank's live storage.
  std::span<const std::byte> live(const Piece& piece) const noexcept {
    const StateEntry& entry = state_.entries[piece.entry];
    const Extent& extent = entry.extents[piece.extent];
    return {extent.data + (piece.offset - extent.offset) * size_of(entry.dtype), bytes_of(piece)};
  }

  // Keeps the first failure; whatever follows it is left out, but the exchange with the others goes on.
  template <class Body>
  void attempt(Body&& body) {
    if (failure_) return;
    try {
      body();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  comm::Collectives& collectives_;
  staging::BufferPool& pool_;
  const StateView& state_;
  const GatherPlan& plan_;

 private:
  // Also the pace: no rank is more than a chunk ahead, so no wait here is longer than rank 0 takes for one.
  bool rank_0_goes_on() {
    std::array<std::byte, 1> stopped{std::byte{failure_ ? std::uint8_t{1} : std::uint8_t{0}}};
    if (collectives_.size() > 1) collectives_.broadcast(stopped, root).wait();
    return stopped[0] == std::byte{0};
  }

  std::array<Slot, 2> slots_;
  std::exception_ptr failure_;
};

class Receiving final : public Exchange {
 public:
  Receiving(comm::Collectives& collectives, staging::BufferPool& pool, const StateView& state,
            const GatherPlan& plan, const Gather::Sink& sink, const std::function<void()>& at_chunk)
      : Exchange(collectives, pool, state, plan), sink_(sink), at_chunk_(at_chunk) {}

 private:
  // Bytes by rank. In the buffer a rank's packed pieces lie together, rank after rank.
  using ByRank = std::map<std::uint32_t, std::size_t>;

  void start(std::size_t chunk) override {
    Slot& at = slot(chunk);
    std::size_t begin = 0;
    for (const auto& [rank, bytes] : bytes_by_rank(chunk)) {
      at.requests.push_back(
          collectives_.receive(at.buffer.bytes().subspan(begin, bytes), static_cast<int>(rank), message_tag));
      begin += bytes;
    }
  }

  void finish(std::size_t chunk) override {
    wait(chunk);
    attempt([&] {
      at_chunk_();
      hand_over(chunk);
    });
  }

  void hand_over(std::size_t chunk) {
    ByRank next;
    std::size_t begin = 0;
    for (const auto& [rank, bytes] : bytes_by_rank(chunk)) {
      next[rank] = begin;
      begin += bytes;
    }
    for (const Piece& piece : plan_.chunk(chunk)) {
      if (piece.rank == root) {
        sink_(piece, live(piece));
        continue;
      }
      sink_(piece, slot(chunk).buffer.bytes().subspan(next[piece.rank], bytes_of(piece)));
      next[piece.rank] += bytes_of(piece);
    }
  }

  ByRank bytes_by_rank(std::size_t chunk) const {
    ByRank bytes;
    for (const Piece& piece : plan_.chunk(chunk)) {
      if (piece.rank != root) bytes[piece.rank] += bytes_of(piece);
    }
    return bytes;
  }

  const Gather::Sink& sink_;
  const std::function<void()>& at_chunk_;
};

class Sending final : public Exchange {
 public:
  Sending(comm::Collectives& collectives, staging::BufferPool& pool, const StateView& state,
          const GatherPlan& plan, const std::function<void()>& at_chunk)
      : Exchange(collectives, pool, state, plan), at_chunk_(at_chunk) {}

 private:
  // Sends even after a failure of its own: rank 0 waits for the message, and learns of the failure at the
  // end.
  void start(std::size_t chunk) override {
    attempt(at_chunk_);
    Slot& at = slot(chunk);
    std::size_t packed = 0;
    for (const Piece& piece : plan_.chunk(chunk)) {
      if (static_cast<int>(piece.rank) != collectives_.rank()) continue;
      const auto bytes = live(piece);
      std::memcpy(at.buffer.data() + packed, bytes.data(), bytes.size());
      packed += bytes.size();
    }
    if (packed > 0)
      at.requests.push_back(collectives_.send(at.buffer.bytes().first(packed), root, message_tag));
  }

  void finish(std::size_t chunk) override { wait(chunk); }

  const std::function<void()>& at_chunk_;
};

}  // namespace

Gather::Gather(comm::Collectives& collectives, std::size_t chunk_bytes)
    : collectives_(collectives), pool_(chunk_bytes, 2) {}

void Gather::run(const StateView& state, const GatherPlan& plan, const Sink& sink,
                 const std::function<void()>& at_chunk) {
  if (collectives_.rank() == root) {
    Receiving(collectives_, pool_, state, plan, sink, at_chunk).run();
  } else {
    Sending(collectives_, pool_, state, plan, at_chunk).run();
  }
}

}  // namespace lockstep
