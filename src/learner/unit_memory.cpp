#include "unit_memory.hpp"

namespace lockstep::learner {

std::size_t UnitMemory::find_free() const noexcept {
  std::size_t found = places_.size();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    if (!place.free || place.used_at == collectives_done_) continue;
    if (found == places_.size() || place.used_at < places_[found].used_at) found = i;
  }
  return found;
}

std::size_t UnitMemory::take() {
  std::size_t place = find_free();
  if (place == places_.size()) places_.push_back({.buffer = collectives_.allocate(bytes_each_)});
  places_[place].free = false;
  return place;
}

}  // namespace lockstep::learner
