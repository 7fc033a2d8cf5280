#include "scratch_pool.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::comm {

std::shared_ptr<staging::Buffer> ScratchPool::take(std::size_t bytes) {
  const auto smaller = [](const staging::Buffer& buffer, std::size_t size) { return buffer.size() < size; };
  auto found = std::lower_bound(free_->begin(), free_->end(), bytes, smaller);
  staging::Buffer taken;
  if (found != free_->end()) {
    taken = std::move(*found);
    free_->erase(found);
  } else {
    if (!free_->empty()) free_->pop_back();
    taken = staging::Buffer(bytes, "collective scratch");
  }
  const auto give_back = [free = free_, smaller](staging::Buffer* buffer) {
    free->insert(std::lower_bound(free->begin(), free->end(), buffer->size(), smaller), std::move(*buffer));
    delete buffer;
  };
  return {new staging::Buffer(std::move(taken)), give_back};
}

}  // namespace lockstep::comm
