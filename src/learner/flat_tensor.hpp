// Flat tensors over a plan's buffers, and what every store does with trained parameters.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function_hook.h>

#include <cstring>
#include <memory>
#include <vector>

#include "lockstep/learner/parameter_group.hpp"
#include "lockstep/learner/store.hpp"
#include "lockstep/staging/buffer.hpp"

namespace lockstep::learner {

// memcpy that takes nothing from nowhere: empty parameters and slices have no address.
inline void copy_bytes(void* into, const void* from, std::size_t bytes) noexcept {
  if (bytes > 0) std::memcpy(into, from, bytes);
}

// A flat tensor over a buffer, which it keeps alive.
at::Tensor flat_tensor(const staging::Buffer& buffer, std::size_t elements, Dtype dtype);
at::Tensor narrowed(const at::Tensor& flat, std::size_t begin, std::size_t length);
// One parameter's place in a flat tensor, in its own shape.
at::Tensor view_of(const at::Tensor& flat, const Placement& place, const std::vector<std::int64_t>& shape);

// ContractError naming the parameter that a flat buffer cannot hold or the reduction cannot sum.
std::vector<ParameterSpec> specs_of(const std::vector<ParameterGroup>& groups);

// Adds the squares of a part's gradients, block after block (square_sum.hpp); `blocks` are blocks_within the
// part.
void add_squares(const OwnedPart& part, const std::vector<Block>& blocks, ExactSum& sum);
// The lower of `first` and the lowest index of a parameter with a non-finite gradient in the part.
std::size_t first_non_finite_of(const FlatBuffer& buffer, const OwnedPart& part, std::size_t first);

// Takes a parameter's gradient as soon as backward has accumulated it, by owner->take(index, gradient).
template <class Owner>
class TakeGradient : public torch::autograd::PostAccumulateGradHook {
 public:
  TakeGradient(Owner* owner, std::size_t index) : owner_(owner), index_(index) {}
  void operator()(const at::Tensor& parameter) override {
    const at::Tensor gradient = parameter.grad();
    parameter.mutable_grad().reset();
    owner_->take(index_, gradient);
  }

 private:
  Owner* owner_;
  std::size_t index_;
};

[[noreturn]] void throw_outside_a_step(const std::string& parameter);

}  // namespace lockstep::learner
