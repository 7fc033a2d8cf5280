#include "lockstep/data/device_work.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/from_blob.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>

#include "lockstep/data/tensor_dtype.hpp"

namespace lockstep {
namespace {

at::Tensor view(const void* data, std::size_t count, Dtype dtype) {
  const at::TensorOptions options =
      at::TensorOptions().dtype(scalar_type_of(dtype)).device(at::kCUDA, c10::cuda::current_device());
  // A tensor's data is never const.
  return at::from_blob(const_cast<void*>(data), {static_cast<std::int64_t>(count)}, options);
}

void add(void* out, const void* a, const void* b, std::size_t count, Dtype dtype, void* stream) {
  const c10::cuda::CUDAStreamGuard on_stream(
      c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(stream), c10::cuda::current_device()));
  at::Tensor sum = view(out, count, dtype);
  at::add_out(sum, view(a, count, dtype), view(b, count, dtype));
}

}  // namespace

comm::DeviceWork device_work() {
  return {.current_stream = [] { return static_cast<void*>(c10::cuda::getCurrentCUDAStream().stream()); },
          .add = add};
}

}  // namespace lockstep
