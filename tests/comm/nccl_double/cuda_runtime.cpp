// The CUDA runtime's functions, on host memory.
#include <cstdlib>
#include <cstring>
#include <map>

#include "engine.hpp"

namespace {

using namespace lockstep::nccl_double;

std::map<const std::byte*, std::size_t>& allocations() {
  static std::map<const std::byte*, std::size_t> all;
  return all;
}

bool allocated(const void* data) {
  const auto* place = static_cast<const std::byte*>(data);
  auto after = allocations().upper_bound(place);
  if (after == allocations().begin()) return false;
  --after;
  return place < after->first + after->second;
}

class Record final : public Task {
 public:
  Record(cudaEvent_t event, std::uint64_t which) : event_(event), which_(which) {}
  bool step() override {
    event_->reached = which_;
    return true;
  }

 private:
  cudaEvent_t event_;
  std::uint64_t which_;
};

class Wait final : public Task {
 public:
  Wait(cudaEvent_t event, std::uint64_t which) : event_(event), which_(which) {}
  bool ready() const override { return event_->reached >= which_; }
  bool step() override { return true; }

 private:
  cudaEvent_t event_;
  std::uint64_t which_;
};

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = behaviour().devices;
  return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaSetDevice(int device) {
  note("cudaSetDevice(" + std::to_string(device) + ")");
  return device < behaviour().devices ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  const std::string text = "0000:0" + std::to_string(behaviour().one_device_for_all ? 0 : device) + ":00.0";
  std::strncpy(id, text.c_str(), static_cast<std::size_t>(length));
  return cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t code) {
  return code == cudaErrorNoDevice ? "no CUDA-capable device is detected" : "an error of the double";
}

// Filled with what is not a number, so that a read of what nobody wrote shows.
cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  *data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*data, 0xff, bytes);
  allocations()[static_cast<const std::byte*>(*data)] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFree(void* data) {
  if (allocations().erase(static_cast<const std::byte*>(data)) == 0)
    violate("cudaFree of what is no allocation");
  std::free(data);
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  *attributes = {};
  attributes->type = allocated(data) ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  launch(stream, "cudaMemcpyAsync", [=] { std::memmove(to, from, bytes); });
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  bool reached = false;
  launch(stream, "cudaStreamSynchronize", [&] { reached = true; });
  while (!reached) progress();
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}

// Kept, since what is on the streams still speaks of it.
cudaError_t cudaEventDestroy(cudaEvent_t) {
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  note("cudaEventRecord(" + name_of(stream) + ")");
  enqueue(stream, std::make_unique<Record>(event, ++event->recorded));
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  note("cudaStreamWaitEvent(" + name_of(stream) + ")");
  enqueue(stream, std::make_unique<Wait>(event, event->recorded));
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  progress();
  return event->reached == event->recorded ? cudaSuccess : cudaErrorNotReady;
}

}  // extern "C"
