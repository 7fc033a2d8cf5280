// Memory of a test that the processor reads and writes.
#pragma once

#include <cstring>
#include <utility>

#include "places.hpp"

namespace lockstep::test {

class HostMemory final : public Memory {
 public:
  explicit HostMemory(staging::Buffer buffer) : buffer_(std::move(buffer)) {}
  std::byte* data() override { return buffer_.data(); }
  void write(std::size_t offset, const void* from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(buffer_.data() + offset, from, bytes);
  }
  void read(void* to, std::size_t offset, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, buffer_.data() + offset, bytes);
  }

 private:
  staging::Buffer buffer_;
};

inline std::unique_ptr<Memory> make_host_memory(const Place& place, comm::Collectives& collectives,
                                                std::size_t bytes) {
  return std::make_unique<HostMemory>(place.memory == "allocated" ? collectives.allocate(bytes)
                                                                  : staging::Buffer(bytes, "test"));
}

}  // namespace lockstep::test
