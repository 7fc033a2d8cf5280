// The double as the device: each Collectives meets another schedule, and NCCL that takes a while over its
// calls.
#include <gtest/gtest.h>

#include "device.hpp"
#include "nccl_double/nccl_double.hpp"
#include "places.hpp"

namespace lockstep::test {
namespace {

cudaStream_t stream = nullptr;

template <class T>
void add(void* out, const void* a, const void* b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    static_cast<T*>(out)[i] = static_cast<const T*>(a)[i] + static_cast<const T*>(b)[i];
}

}  // namespace

comm::DeviceWork fresh_device() {
  static unsigned seed = 0;
  nccl_double::start(++seed);
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  nccl_double::behaviour().late_stream = stream;
  nccl_double::behaviour().polls_in_progress = static_cast<int>(seed % 3) * 10;
  return {.current_stream = [] { return static_cast<void*>(stream); },
          .add =
              [](void* out, const void* a, const void* b, std::size_t count, Dtype dtype, void* on) {
                nccl_double::launch(static_cast<cudaStream_t>(on), "add", [=] {
                  dtype == Dtype::float32 ? add<float>(out, a, b, count) : add<double>(out, a, b, count);
                });
              }};
}

cudaStream_t computing_stream() {
  return stream;
}

void expect_rules_kept() {
  for (const std::string& sentence : nccl_double::violations()) ADD_FAILURE() << sentence;
}

}  // namespace lockstep::test
