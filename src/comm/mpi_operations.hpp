// Private: the collective operations over MPI's point-to-point messages. Each is posted by its constructor.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "exchange.hpp"
#include "lockstep/comm/request.hpp"
#include "scratch_pool.hpp"
#include "slices.hpp"
#include "survey.hpp"

namespace lockstep::comm {

// What the operations of one group share.
struct MpiGroup {
  MPI_Comm comm;
  int rank;
  int size;
  ScratchPool scratch;
  Survey survey;
};

// Identity of one collective call.
struct Call {
  Kind kind;
  std::uint64_t sequence;
  std::uint64_t bytes;
  std::string text() const;  // "reduce_scatter #12, 4096 bytes"
};

class MpiOperation : public Operation {
 public:
  MpiOperation(MpiGroup& group, const Call& call);
  std::string_view what() const noexcept override { return what_; }
  void check() override { group_.survey.answer(sequence_); }
  std::string missing() override { return group_.survey.absent(sequence_); }
  // MPI moves large messages only inside its calls: sleeping between polls would slow them.
  Patience patience() const noexcept override { return {.spins = 100, .yield_s = 2.0}; }

 protected:
  MpiGroup& group_;
  std::uint64_t sequence_;
  int tag_;
  Exchange exchange_;

 private:
  std::string what_;
};

// Slice j goes to rank j, which adds all ranks' contributions in tree order.
class MpiReduceScatter : public MpiOperation {
 public:
  MpiReduceScatter(MpiGroup& group, const Call& call, std::byte* data, Slices slices, ReduceOp op);
  bool progress() override;

 private:
  std::byte* data_;
  Slices slices_;
  ReduceOp op_;
  std::shared_ptr<staging::Buffer> received_;
  std::vector<const std::byte*> contributions_;  // by rank
};

// MPI's own reduce-scatter. The counts must fit its int.
class MpiFastReduceScatter : public MpiOperation {
 public:
  MpiFastReduceScatter(MpiGroup& group, const Call& call, std::byte* data, const Slices& slices);
  static bool fits(const Slices& slices) noexcept;
  bool progress() override;

 private:
  std::byte* own_;
  std::size_t own_bytes_;
  std::vector<int> counts_;
  std::shared_ptr<staging::Buffer> result_;
};

class MpiAllGather : public MpiOperation {
 public:
  MpiAllGather(MpiGroup& group, const Call& call, std::byte* data, const Slices& slices);
  bool progress() override { return exchange_.done(); }
};

// Small: log2(block) exchanges inside the power-of-two blocks of the tree, then one among the blocks.
class MpiTreeAllReduce : public MpiOperation {
 public:
  MpiTreeAllReduce(MpiGroup& group, const Call& call, std::byte* data, std::size_t count, Dtype dtype,
                   ReduceOp op);
  // Bytes that a rank sends in it.
  static std::size_t traffic(int ranks, std::size_t bytes) noexcept;
  bool progress() override;

 private:
  bool next_partners();
  void post();
  void reduce();

  std::byte* data_;
  std::size_t count_;
  std::size_t bytes_;
  Dtype dtype_;
  ReduceOp op_;
  int width_ = 1;              // of the exchange in flight; the block's size in the last
  std::vector<int> partners_;  // ranks whose values are combined now, in tree order, this one included
  std::shared_ptr<staging::Buffer> received_;
  bool posted_ = false;
};

// Large: reduce-scatter over even slices, then all-gather.
class MpiLargeAllReduce : public MpiOperation {
 public:
  MpiLargeAllReduce(MpiGroup& group, const Call& call, std::byte* data, std::size_t count, Dtype dtype,
                    ReduceOp op);
  bool progress() override;

 private:
  Call call_;
  std::byte* data_;
  Slices slices_;
  std::unique_ptr<MpiReduceScatter> reduce_scatter_;
  std::unique_ptr<MpiAllGather> all_gather_;
};

class MpiBroadcast : public MpiOperation {
 public:
  MpiBroadcast(MpiGroup& group, const Call& call, std::span<std::byte> data, int root);
  bool progress() override { return exchange_.done(); }
};

class MpiGather : public MpiOperation {
 public:
  MpiGather(MpiGroup& group, const Call& call, std::span<const std::byte> data, std::span<std::byte> out,
            int root);
  bool progress() override { return exchange_.done(); }
};

class MpiBarrier : public MpiOperation {
 public:
  MpiBarrier(MpiGroup& group, const Call& call);
  bool progress() override { return exchange_.done(); }
};

}  // namespace lockstep::comm
