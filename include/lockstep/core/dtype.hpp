// Element types that buffers, collectives and checkpoints speak; no tensors here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lockstep {

enum class Dtype : std::uint8_t { float32, float64, bfloat16, float16, int32, int64, uint8, boolean };

// Bytes of one element.
constexpr std::size_t size_of(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::float64:
    case Dtype::int64:
      return 8;
    case Dtype::float32:
    case Dtype::int32:
      return 4;
    case Dtype::bfloat16:
    case Dtype::float16:
      return 2;
    case Dtype::uint8:
    case Dtype::boolean:
      return 1;
  }
  return 0;
}

// "float32", "int64", ...
std::string_view to_string(Dtype dtype) noexcept;

}  // namespace lockstep
