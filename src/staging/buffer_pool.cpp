#include <spdlog/fmt/fmt.h>

#include <mutex>
#include <vector>

#include "lockstep/core/error.hpp"
#include "lockstep/staging/buffer.hpp"

namespace lockstep::staging {

struct PoolState {
  std::mutex mutex;
  std::vector<Buffer> free;
};

BufferPool::BufferPool(std::size_t bytes_each, std::size_t count)
    : bytes_each_(bytes_each), state_(std::make_shared<PoolState>()) {
  for (std::size_t i = 0; i < count; ++i) state_->free.emplace_back(bytes_each, "pool");
}

Buffer BufferPool::take() {
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->free.empty()) {
      Buffer buffer = std::move(state_->free.back());
      state_->free.pop_back();
      return buffer;
    }
  }
  return Buffer(bytes_each_, "pool");
}

void BufferPool::give_back(Buffer buffer) {
  if (buffer.size() != bytes_each_) {
    throw ContractError(fmt::format("buffer pool: {} bytes given back to a pool of {}-byte buffers",
                                    buffer.size(), bytes_each_));
  }
  const std::lock_guard lock(state_->mutex);
  state_->free.push_back(std::move(buffer));
}

}  // namespace lockstep::staging
