// What a backend on GPUs needs from whoever has tensors: the module knows bytes and streams, no kernels.
#pragma once

#include <cstddef>
#include <functional>

#include "lockstep/core/dtype.hpp"

namespace lockstep::comm {

// Streams are cudaStream_t, passed as void* so that no CUDA header is needed here. Both functions only
// enqueue work, on the calling thread and the device that is current there, and wait for nothing.
struct DeviceWork {
  // The stream on which the caller computes what it passes to a collective: the collective starts behind the
  // work that is on it at the call. Empty: the device's default stream.
  std::function<void*()> current_stream;

  // out[i] = a[i] + b[i] for `count` elements of device memory, on `stream`, each sum rounded once as IEEE
  // 754 does. `out` may be `a` or `b`. dtype float32 or float64. Empty: `exact` sums of device memory are a
  // ContractError.
  std::function<void(void* out, const void* a, const void* b, std::size_t count, Dtype dtype, void* stream)>
      add;
};

}  // namespace lockstep::comm
