// The NCCL backend, on memory of every kind.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "device.hpp"
#include "host_memory.hpp"

namespace lockstep::test {
namespace {

void require(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

class DeviceMemory final : public Memory {
 public:
  explicit DeviceMemory(std::size_t bytes) {
    void* made = nullptr;
    require(cudaMalloc(&made, bytes));
    data_ = static_cast<std::byte*>(made);
  }
  ~DeviceMemory() override { static_cast<void>(cudaFree(data_)); }
  std::byte* data() override { return data_; }
  void write(std::size_t offset, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    require(cudaMemcpyAsync(data_ + offset, from, bytes, cudaMemcpyHostToDevice, computing_stream()));
  }
  void read(void* to, std::size_t offset, std::size_t bytes) override {
    if (bytes == 0) return;
    require(cudaMemcpyAsync(to, data_ + offset, bytes, cudaMemcpyDeviceToHost, computing_stream()));
    require(cudaStreamSynchronize(computing_stream()));
  }

 private:
  std::byte* data_ = nullptr;
};

}  // namespace

std::vector<Place> places() {
  return {{"nccl", "own"}, {"nccl", "allocated"}, {"nccl", "device"}};
}

std::unique_ptr<comm::Collectives> collectives_for(const Place& place, double deadline_s) {
  return comm::make_collectives(comm::Communicator::world(), place.backend, deadline_s, fresh_device());
}

std::unique_ptr<Memory> make_memory(const Place& place, comm::Collectives& collectives, std::size_t bytes) {
  if (place.memory == "device") return std::make_unique<DeviceMemory>(bytes);
  return make_host_memory(place, collectives, bytes);
}

}  // namespace lockstep::test
