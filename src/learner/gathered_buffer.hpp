// One flat buffer of a unit under sharding `parameters`: this rank's slice at rest, the whole while it is
// open.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/learner/rank_grid.hpp"
#include "lockstep/learner/sharding_plan.hpp"
#include "unit_memory.hpp"

namespace lockstep::learner {

class GatheredBuffer {
 public:
  // Collective. Takes over the tensors (by parameter index) that the layout places: rank 0's values hold, and
  // the tensors become views whose storage is there only while the buffer is open.
  GatheredBuffer(const FlatBuffer& layout, const std::vector<ParameterSpec>& specs,
                 const std::vector<at::Tensor>& tensors, RankGrid& grid, UnitMemory& memory);

  const FlatBuffer& layout() const noexcept { return layout_; }
  std::size_t begin() const noexcept { return begin_; }  // this rank's slice of the buffer
  std::size_t end() const noexcept { return end_; }
  const at::Tensor& slice() const noexcept { return slice_; }

  void open();            // collective; from the slices
  void close() noexcept;  // the memory goes back; readers of the tensors would fail
  bool is_open() const noexcept { return parameters_at_.has_value(); }

  // The unit's whole gradient, in memory that comes with the first call and goes with the reduction.
  at::Tensor& gradient();
  // Collective. Sums `whole` over ranks; this rank's slice of the sum.
  at::Tensor reduced(const at::Tensor& whole, comm::Reduction reduction);
  void drop_gradient() noexcept;

 private:
  void set_memory(std::byte* data) noexcept;

  const FlatBuffer& layout_;
  comm::Collectives& collectives_;
  UnitMemory& memory_;
  std::size_t begin_ = 0, end_ = 0;
  at::Tensor slice_, whole_, gradient_;
  std::optional<std::size_t> parameters_at_, gradient_at_;
};

}  // namespace lockstep::learner
