#include "lockstep/core/dtype.hpp"

namespace lockstep {

std::string_view to_string(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::float32:
      return "float32";
    case Dtype::float64:
      return "float64";
    case Dtype::bfloat16:
      return "bfloat16";
    case Dtype::float16:
      return "float16";
    case Dtype::int32:
      return "int32";
    case Dtype::int64:
      return "int64";
    case Dtype::uint8:
      return "uint8";
    case Dtype::boolean:
      return "boolean";
  }
  return "unknown";
}

}  // namespace lockstep
