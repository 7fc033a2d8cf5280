// Between LibTorch's scalar types and ours.
#pragma once

#include <ATen/core/Tensor.h>

#include "lockstep/core/dtype.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep {

// ContractError for a type that no checkpoint or collective speaks.
inline Dtype dtype_of(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return Dtype::float32;
    case at::kDouble:
      return Dtype::float64;
    case at::kBFloat16:
      return Dtype::bfloat16;
    case at::kHalf:
      return Dtype::float16;
    case at::kInt:
      return Dtype::int32;
    case at::kLong:
      return Dtype::int64;
    case at::kByte:
      return Dtype::uint8;
    case at::kBool:
      return Dtype::boolean;
    default:
      throw ContractError(
          std::string("tensors of type ") + c10::toString(type) +
          " are not supported; use float32, float64, bfloat16, float16, int32, int64, uint8 or bool");
  }
}

inline at::ScalarType scalar_type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::float32:
      return at::kFloat;
    case Dtype::float64:
      return at::kDouble;
    case Dtype::bfloat16:
      return at::kBFloat16;
    case Dtype::float16:
      return at::kHalf;
    case Dtype::int32:
      return at::kInt;
    case Dtype::int64:
      return at::kLong;
    case Dtype::uint8:
      return at::kByte;
    case Dtype::boolean:
      return at::kBool;
  }
  throw ContractError("unknown element type");
}

}  // namespace lockstep
