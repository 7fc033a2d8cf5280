// Host buffers for everything that is sent, reduced or written: Kokkos-managed, pre-touched, 64-byte starts.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace lockstep::staging {

// Bytes of host memory, zero-filled and touched when made (no page faults later), start aligned to 64 bytes.
// Move-only. Owned by a Kokkos View in host space, or a window of a shared segment that it keeps alive.
// The first needs a live Runtime (ContractError without one) and must be gone, with every holder of owner(),
// before the runtime ends: Kokkos cannot free afterwards, so memory that outlives it is left to the end of
// the process.
class Buffer {
 public:
  Buffer() noexcept;
  explicit Buffer(std::size_t bytes, const std::string& label = "lockstep");  // Kokkos HostSpace
  Buffer(std::shared_ptr<void> owner, std::byte* data, std::size_t bytes);    // a window of someone's memory
  ~Buffer();
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;

  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::span<std::byte> bytes() noexcept { return {data_, size_}; }
  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  // Keeps the memory alive independently of this handle (a tensor's deleter holds one).
  std::shared_ptr<void> owner() const noexcept { return owner_; }

 private:
  std::shared_ptr<void> owner_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// A pool of equal-sized buffers, reused: `take` waits for nobody and makes a new buffer only when all are
// out. Threads may share it. Contents are as the last user left them. `give_back` throws ContractError on
// another size.
class BufferPool {
 public:
  BufferPool(std::size_t bytes_each, std::size_t count);
  Buffer take();
  void give_back(Buffer buffer);
  std::size_t bytes_each() const noexcept { return bytes_each_; }

 private:
  std::size_t bytes_each_;
  std::shared_ptr<struct PoolState> state_;
};

// Bytes held by live Buffers of this process now, and the most since the last reset (for the memory bars).
std::size_t live_bytes() noexcept;
std::size_t peak_bytes() noexcept;
void reset_peak() noexcept;

// A POSIX shared-memory segment. Space is allocated before it is mapped, so that a full /dev/shm is an error
// here (IoError) and never a SIGBUS later. The maker unlinks the name once all have opened it.
class SharedSegment {
 public:
  // `name` begins with '/' and holds no other. IoError when it exists, has no room, or cannot be mapped.
  // Zero-filled; `bytes` > 0. The mapping is populated: no page fault later.
  static SharedSegment create(const std::string& name, std::size_t bytes);
  // IoError when it does not exist or is smaller than `bytes`.
  static SharedSegment open(const std::string& name, std::size_t bytes);
  void unlink() noexcept;
  static void unlink(const std::string& name) noexcept;  // any rank's; nothing when it is gone
  ~SharedSegment();
  SharedSegment(SharedSegment&&) noexcept;
  SharedSegment& operator=(SharedSegment&&) noexcept;
  std::byte* data() const noexcept;
  std::size_t size() const noexcept;
  std::shared_ptr<void> owner() const noexcept;  // unmaps when the last holder lets go

 private:
  SharedSegment() = default;
  std::string name_;
  std::shared_ptr<void> mapping_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Raises malloc's mmap threshold to glibc's limit (32 MiB on 64 bits) and its trim threshold to 1 GiB, so
// that large temporaries are reused, not faulted in again. Local; call once, early. Does nothing under other
// C libraries.
void tune_allocator() noexcept;

}  // namespace lockstep::staging
