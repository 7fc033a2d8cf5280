// The rows of an action tensor, in the form that Environment::step takes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "lockstep/envs/environment.hpp"

namespace lockstep::envs {

class ActionRows {
 public:
  // action [rows] int64 for a discrete space, [rows, a] float32 for a continuous one, on the CPU;
  // ContractError otherwise.
  ActionRows(const EnvironmentSpec& spec, const at::Tensor& action, std::int64_t rows);
  // Valid until the next call. 0 <= index < rows, unchecked.
  std::span<const float> row(std::int64_t index) noexcept;

 private:
  at::Tensor action_;  // contiguous
  const std::int64_t* integers_ = nullptr;
  const float* floats_ = nullptr;
  std::int64_t size_ = 1;
  float number_ = 0;  // a discrete action as a float
};

}  // namespace lockstep::envs
