// Private: staging buffers that operations borrow and give back, so that a step makes no page fault.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "lockstep/staging/buffer.hpp"

namespace lockstep::comm {

class ScratchPool {
 public:
  // A buffer of at least `bytes`, given back when the holder lets go. The smallest free one that suffices;
  // where none does, a free one that is too small makes room for it, so that the pool holds no more than was
  // used at once.
  std::shared_ptr<staging::Buffer> take(std::size_t bytes);

 private:
  using Free = std::vector<staging::Buffer>;
  std::shared_ptr<Free> free_ = std::make_shared<Free>();
};

}  // namespace lockstep::comm
