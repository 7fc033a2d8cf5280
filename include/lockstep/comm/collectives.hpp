// The collective operations of a group of ranks behind one interface; every backend gives the same bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/comm/communicator.hpp"
#include "lockstep/comm/device_work.hpp"
#include "lockstep/comm/request.hpp"
#include "lockstep/core/dtype.hpp"
#include "lockstep/core/exact_sum.hpp"
#include "lockstep/staging/buffer.hpp"

namespace lockstep::comm {

enum class ReduceOp : std::uint8_t { sum, max, min };
// exact: the fixed tree over ranks (core/reduction_tree.hpp). fast: the backend's own order.
enum class Reduction : std::uint8_t { exact, fast };

enum class Kind : std::uint8_t {
  reduce_scatter,
  all_gather,
  all_reduce,
  broadcast,
  gather,
  send,
  receive,
  barrier
};
constexpr std::size_t kind_count = 8;
std::string_view to_string(Kind kind) noexcept;

// Calls made and bytes this rank handed to others (the (n-1)/n S of a bandwidth-optimal algorithm, as really
// sent or really read from a peer's memory), by kind.
struct Traffic {
  std::array<std::uint64_t, kind_count> calls{};
  std::array<std::uint64_t, kind_count> bytes{};
};

// Every call but send and receive must be made by all ranks of the group in the same order, with sizes,
// dtypes and roots that agree (shared_memory compares them on every call: CommError naming both calls). An
// operation starts at the call and goes on only while some Request of this Collectives is tested or waited
// for; operations complete in the order of their start, but send and receive, which are independent. A
// Collectives outlives its Requests, and is destroyed on all ranks together. One thread drives one
// Collectives.
//
// nccl takes device memory too, the same kind of memory on every rank of a call: an operation on it starts
// behind the work that is then on DeviceWork::current_stream, and once its Request is complete, so is its
// effect for whatever is launched later. Messages of device memory between two ranks meet in the order of
// their calls, whatever their tags. After an error or a passed deadline it is done for: every later call
// throws.
//
// Memory from allocate() is read by the peers where it lies. It must be passed at the same place on every
// rank, and after reduce_scatter, all_gather or all_reduce on it completed here, peers may still read it: the
// own slice after an all_gather, the others after a reduce_scatter. Overwrite those only once a later
// collective of this group has completed; using them in a later collective is always safe.
class Collectives {
 public:
  virtual ~Collectives() = default;

  virtual std::string_view backend() const noexcept = 0;  // "mpi", "shared_memory", "nccl"
  int rank() const noexcept { return communicator_.rank(); }
  int size() const noexcept { return communicator_.size(); }
  const Communicator& communicator() const noexcept { return communicator_; }

  // Collective, and waits. Memory that the backend moves fastest (the node's shared segment where there is
  // one, agreed fall-back to plain host memory), the same size on every rank, zero-filled and pre-touched.
  virtual staging::Buffer allocate(std::size_t bytes) = 0;

  // In place over `data` (whole buffer on every rank, elements of `dtype`): afterwards this rank's slice
  // [cuts[rank], cuts[rank+1]) holds the sum over ranks; the rest is undefined. cuts has size()+1 ascending
  // element offsets, cuts[0] = 0; slices may be empty or unequal. dtype float32, float64 or int64.
  virtual Request reduce_scatter(void* data, std::span<const std::size_t> cuts, Dtype dtype,
                                 Reduction reduction) = 0;
  // In place: this rank's slice is sent to all; afterwards the whole buffer is equal on every rank. Any
  // dtype.
  virtual Request all_gather(void* data, std::span<const std::size_t> cuts, Dtype dtype) = 0;
  // In place, small or large; sums run in the exact tree. float32, float64, int64. max and min of NaN:
  // unspecified.
  virtual Request all_reduce(void* data, std::size_t count, Dtype dtype, ReduceOp op) = 0;
  virtual Request broadcast(std::span<std::byte> data, int root) = 0;
  // Equal sizes; `out` (size() * data.size() bytes, rank by rank) is used on the root only.
  virtual Request gather(std::span<const std::byte> data, std::span<std::byte> out, int root) = 0;
  // Point to point: tag in [0, 16383]; the receiver's size is the sender's. Messages between two ranks with
  // one tag arrive in order.
  virtual Request send(std::span<const std::byte> data, int to, int tag) = 0;
  virtual Request receive(std::span<std::byte> data, int from, int tag) = 0;
  virtual Request barrier() = 0;

  const Traffic& traffic() const noexcept { return traffic_; }
  double deadline_s() const noexcept { return deadline_s_; }

 protected:
  Collectives(Communicator communicator, double deadline_s);
  void count(Kind kind, std::uint64_t bytes) noexcept;
  Communicator communicator_;
  Traffic traffic_;
  double deadline_s_;
};

// Collective. deadline_s > 0 bounds every wait. backend: "auto" (shared_memory when all ranks share a node
// and the segment can be made, else mpi), "mpi", "shared_memory" (CommError on all ranks when they do not
// share a node or it has no room), "nccl" (CommError on all ranks when this build has no NCCL or a rank no
// GPU of its own; the calling thread's current device is set). ContractError on another name. The reason of a
// fall-back is logged. `device_work` is for nccl alone.
std::unique_ptr<Collectives> make_collectives(Communicator communicator, std::string_view backend,
                                              double deadline_s, const DeviceWork& device_work = {});
// The names of the backends in this build.
std::vector<std::string_view> collective_backends();

// --- Small things built on the interface, collective unless said ---
void merge_sums(Collectives& collectives, std::span<ExactSum> sums);  // all ranks end with the same sums
std::string broadcast_text(Collectives& collectives, std::string text, int root);  // any length
std::vector<std::string> all_gather_text(Collectives& collectives, const std::string& text);
// True when `flag` is true on any rank.
bool any_rank(Collectives& collectives, bool flag);
// Runs `body` on every rank; if it threw an InputError on any, throws on all, together, an InputError whose
// message is that of the lowest rank (prefixed by "rank N: " unless rank 0 threw). Other exceptions pass
// through.
void agreed(Collectives& collectives, const std::function<void()>& body);

}  // namespace lockstep::comm
