// Private: owners of CUDA's streams, events and memory. Destructors neither throw nor wait for a kernel that
// a lost rank holds up: they leave what they own to the end of the process while an exception unwinds.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace lockstep::comm {

// A stream that does not order itself with the device's default stream.
class CudaStream {
 public:
  CudaStream();
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  cudaStream_t get() const noexcept { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// Marks a place in a stream.
class CudaEvent {
 public:
  CudaEvent();
  ~CudaEvent();
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  void record(cudaStream_t stream);
  void hold_back(cudaStream_t stream);  // what comes on `stream` from now on waits for the recorded place
  bool reached();                       // without waiting

 private:
  cudaEvent_t event_ = nullptr;
};

// Device memory that operations borrow. None is freed before the pool and its users are gone: cudaFree waits
// for every kernel of the device, and so for every rank that such a kernel waits for.
class DevicePool {
 public:
  // Of at least `bytes`; given back when the holder lets go. 0 bytes: null.
  std::shared_ptr<std::byte> take(std::size_t bytes);

 private:
  struct Block {
    std::size_t bytes;
    std::shared_ptr<std::byte> memory;
  };
  using Free = std::vector<Block>;
  std::shared_ptr<Free> free_ = std::make_shared<Free>();
};

// Whether kernels of this process's device may read and write there. False for null and for host memory of
// any kind.
bool is_device_memory(const void* data);

}  // namespace lockstep::comm
