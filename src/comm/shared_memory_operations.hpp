// Private: the collective operations of a node's ranks, as rows of phases (shared_memory_group.hpp).
#pragma once

#include <memory>
#include <span>
#include <string>

#include "lockstep/comm/request.hpp"
#include "shared_memory_group.hpp"
#include "slices.hpp"

namespace lockstep::comm {

class SharedOperation : public Operation {
 public:
  SharedOperation(SharedMemoryGroup& group, const CallMark& mark, std::string what, std::size_t phases)
      : group_(group), mark_(mark), what_(std::move(what)), phases_(phases) {}

  bool progress() final;
  std::string_view what() const noexcept final { return what_; }
  void check() final;
  std::string missing() final;
  Patience patience() const noexcept final { return {.spins = group_.crowded() ? 0 : 2000}; }

 protected:
  virtual void write(std::size_t) {}  // before the phase is posted
  virtual void read(std::size_t) {}   // after all ranks posted it
  SharedMemoryGroup& group_;

 private:
  CallMark mark_;
  std::string what_;
  std::size_t phases_;
  std::size_t phase_ = 0;
  bool posted_ = false;
};

// An operation of one phase without data: the barrier.
class SharedBarrier final : public SharedOperation {
 public:
  SharedBarrier(SharedMemoryGroup& group, const CallMark& mark, std::string what)
      : SharedOperation(group, mark, std::move(what), 1) {}
};

// The sum of this rank's slice straight from all ranks' buffers.
class WindowReduceScatter final : public SharedOperation {
 public:
  WindowReduceScatter(SharedMemoryGroup& group, const CallMark& mark, std::string what, Window window,
                      Slices slices, ReduceOp op);

 private:
  void read(std::size_t) override;
  Window window_;
  Slices slices_;
  ReduceOp op_;
};

// Each peer's slice copied from the peer's buffer.
class WindowAllGather final : public SharedOperation {
 public:
  WindowAllGather(SharedMemoryGroup& group, const CallMark& mark, std::string what, Window window,
                  Slices slices);

 private:
  void read(std::size_t) override;
  Window window_;
  Slices slices_;
};

// The same two for memory that the peers cannot see: through the slots, chunk by chunk.
class StagedReduceScatter final : public SharedOperation {
 public:
  StagedReduceScatter(SharedMemoryGroup& group, const CallMark& mark, std::string what, std::byte* data,
                      Slices slices, ReduceOp op);

 private:
  void write(std::size_t phase) override;
  void read(std::size_t phase) override;
  std::size_t piece() const noexcept { return group_.slot_bytes() / static_cast<std::size_t>(group_.size()); }
  std::byte* data_;
  Slices slices_;
  ReduceOp op_;
};

class StagedAllGather final : public SharedOperation {
 public:
  StagedAllGather(SharedMemoryGroup& group, const CallMark& mark, std::string what, std::byte* data,
                  Slices slices);

 private:
  void write(std::size_t phase) override;
  void read(std::size_t phase) override;
  std::byte* data_;
  Slices slices_;
};

// At most a slot of data: every rank combines all contributions itself, in one phase.
class SmallAllReduce final : public SharedOperation {
 public:
  SmallAllReduce(SharedMemoryGroup& group, const CallMark& mark, std::string what, std::byte* data,
                 std::size_t count, Dtype dtype, ReduceOp op);

 private:
  void write(std::size_t) override;
  void read(std::size_t) override;
  std::byte* data_;
  std::size_t count_;
  Dtype dtype_;
  ReduceOp op_;
};

class SharedBroadcast final : public SharedOperation {
 public:
  SharedBroadcast(SharedMemoryGroup& group, const CallMark& mark, std::string what, std::span<std::byte> data,
                  int root);

 private:
  void write(std::size_t phase) override;
  void read(std::size_t phase) override;
  std::span<std::byte> data_;
  int root_;
};

class SharedGather final : public SharedOperation {
 public:
  SharedGather(SharedMemoryGroup& group, const CallMark& mark, std::string what,
               std::span<const std::byte> data, std::span<std::byte> out, int root);

 private:
  void write(std::size_t phase) override;
  void read(std::size_t phase) override;
  std::span<const std::byte> data_;
  std::span<std::byte> out_;
  int root_;
};

// One operation after the other, as one.
class SequenceOperation final : public Operation {
 public:
  SequenceOperation(std::unique_ptr<Operation> first, std::unique_ptr<Operation> second)
      : first_(std::move(first)), second_(std::move(second)) {}
  bool progress() override;
  std::string_view what() const noexcept override { return current().what(); }
  void check() override { current().check(); }
  std::string missing() override { return current().missing(); }
  Patience patience() const noexcept override { return current().patience(); }

 private:
  Operation& current() const noexcept { return first_ != nullptr ? *first_ : *second_; }
  std::unique_ptr<Operation> first_;
  std::unique_ptr<Operation> second_;
};

}  // namespace lockstep::comm
