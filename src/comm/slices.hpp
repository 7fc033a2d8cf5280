// Private: how a buffer is cut over the ranks of a group, in bytes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lockstep/comm/collectives.hpp"

namespace lockstep::comm {

class Slices {
 public:
  // `cuts` as in Collectives::reduce_scatter; ContractError, naming `call`, when they are not ascending from
  // 0 or not ranks + 1 of them.
  Slices(std::span<const std::size_t> cuts, std::size_t ranks, Dtype dtype, Kind call);
  // `count` elements over `ranks` as evenly as whole elements allow.
  static Slices even(std::size_t count, std::size_t ranks, Dtype dtype);

  std::size_t begin(int rank) const noexcept { return cuts_[static_cast<std::size_t>(rank)]; }
  std::size_t bytes(int rank) const noexcept {
    return cuts_[static_cast<std::size_t>(rank) + 1] - cuts_[static_cast<std::size_t>(rank)];
  }
  std::size_t total() const noexcept { return cuts_.back(); }
  std::size_t largest() const noexcept;
  int ranks() const noexcept { return static_cast<int>(cuts_.size()) - 1; }
  Dtype dtype() const noexcept { return dtype_; }
  std::size_t elements(int rank) const noexcept { return bytes(rank) / size_of(dtype_); }

 private:
  Slices(std::vector<std::size_t> cuts, Dtype dtype) : cuts_(std::move(cuts)), dtype_(dtype) {}
  std::vector<std::size_t> cuts_;  // in bytes
  Dtype dtype_;
};

}  // namespace lockstep::comm
