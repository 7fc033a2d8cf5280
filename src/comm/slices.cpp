#include "slices.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "lockstep/core/error.hpp"

namespace lockstep::comm {

Slices::Slices(std::span<const std::size_t> cuts, std::size_t ranks, Dtype dtype, Kind call)
    : cuts_(cuts.begin(), cuts.end()), dtype_(dtype) {
  if (cuts_.size() != ranks + 1) {
    throw ContractError(fmt::format("{}: {} cuts for {} ranks; one more than the ranks is needed",
                                    to_string(call), cuts_.size(), ranks));
  }
  if (cuts_.front() != 0 || !std::is_sorted(cuts_.begin(), cuts_.end())) {
    throw ContractError(fmt::format("{}: cuts must start at 0 and never fall", to_string(call)));
  }
  for (std::size_t& cut : cuts_) cut *= size_of(dtype);
}

Slices Slices::even(std::size_t count, std::size_t ranks, Dtype dtype) {
  std::vector<std::size_t> cuts(ranks + 1);
  const std::size_t each = count / ranks;
  const std::size_t longer = count % ranks;
  for (std::size_t r = 0; r <= ranks; ++r) cuts[r] = (r * each + std::min(r, longer)) * size_of(dtype);
  return Slices(std::move(cuts), dtype);
}

std::size_t Slices::largest() const noexcept {
  std::size_t most = 0;
  for (int r = 0; r < ranks(); ++r) most = std::max(most, bytes(r));
  return most;
}

}  // namespace lockstep::comm
