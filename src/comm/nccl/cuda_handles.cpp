#include "cuda_handles.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <bit>
#include <exception>

#include "cuda_check.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::comm {
namespace {

constexpr std::size_t smallest_block = 4096;

bool unwinding() noexcept {
  return std::uncaught_exceptions() > 0;
}

}  // namespace

void check_cuda(cudaError_t code, const char* call, std::source_location where) {
  if (code == cudaSuccess) return;
  throw CommError(
      fmt::format("{} failed: {} (CUDA code {})", call, cudaGetErrorString(code), static_cast<int>(code)),
      where);
}

CudaStream::CudaStream() {
  LOCKSTEP_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}

CudaStream::~CudaStream() {
  if (!unwinding()) static_cast<void>(cudaStreamDestroy(stream_));
}

CudaEvent::CudaEvent() {
  LOCKSTEP_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
}

CudaEvent::~CudaEvent() {
  if (!unwinding()) static_cast<void>(cudaEventDestroy(event_));
}

void CudaEvent::record(cudaStream_t stream) {
  LOCKSTEP_CUDA(cudaEventRecord(event_, stream));
}

void CudaEvent::hold_back(cudaStream_t stream) {
  LOCKSTEP_CUDA(cudaStreamWaitEvent(stream, event_, 0));
}

bool CudaEvent::reached() {
  const cudaError_t state = cudaEventQuery(event_);
  if (state == cudaErrorNotReady) return false;
  LOCKSTEP_CUDA(state);
  return true;
}

std::shared_ptr<std::byte> DevicePool::take(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const auto found =
      std::lower_bound(free_->begin(), free_->end(), bytes,
                       [](const Block& block, std::size_t size) { return block.bytes < size; });
  Block block{};
  if (found != free_->end()) {
    block = std::move(*found);
    free_->erase(found);
  } else {
    // Powers of two, so that a run soon has the blocks it needs.
    block.bytes = std::bit_ceil(std::max(bytes, smallest_block));
    void* made = nullptr;
    LOCKSTEP_CUDA(cudaMalloc(&made, block.bytes));
    block.memory = std::shared_ptr<std::byte>(static_cast<std::byte*>(made), [](std::byte* memory) {
      if (!unwinding()) static_cast<void>(cudaFree(memory));
    });
  }
  std::byte* place = block.memory.get();
  return {place, [free = free_, block = std::move(block)](std::byte*) mutable {
            const auto larger = std::find_if(free->begin(), free->end(),
                                             [&](const Block& other) { return other.bytes >= block.bytes; });
            free->insert(larger, std::move(block));
          }};
}

bool is_device_memory(const void* data) {
  if (data == nullptr) return false;
  cudaPointerAttributes attributes{};
  LOCKSTEP_CUDA(cudaPointerGetAttributes(&attributes, data));
  return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
}

}  // namespace lockstep::comm
