#include "checkpoint/hdf5/handle.hpp"

#include <utility>

#include "checkpoint/hdf5/check.hpp"

namespace lockstep::checkpoint::hdf5 {

Handle::~Handle() {
  if (id_ >= 0) closer_(id_);
}

Handle::Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), closer_(other.closer_) {}

Handle& Handle::operator=(Handle&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(closer_, other.closer_);
  return *this;
}

void Handle::close() {
  if (id_ >= 0) LOCKSTEP_HDF5(closer_(std::exchange(id_, -1)));
}

}  // namespace lockstep::checkpoint::hdf5
