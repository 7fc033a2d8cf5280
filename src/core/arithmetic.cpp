#include "arithmetic.hpp"

#include <ATen/Parallel.h>
#include <ATen/Version.h>

#include <cstdlib>

namespace lockstep {

bool cpu_has_avx2() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

void choose_blas_path(bool avx2) noexcept {
  setenv("MKL_CBWR", avx2 ? "AVX2" : "COMPATIBLE", 0);
}

void set_torch_threads(int threads) {
  // The pool between operators can be sized once a process, and only while nobody has used it.
  static const bool sized = [] {
    at::set_num_interop_threads(1);
    return true;
  }();
  static_cast<void>(sized);
  at::set_num_threads(threads);  // OpenMP and MKL too
}

std::string describe_arithmetic() {
  const char* path = std::getenv("MKL_CBWR");
  const int threads = at::get_num_threads();
  return std::string("MKL_CBWR=") + (path != nullptr ? path : "unset") + ", kernels " +
         at::get_cpu_capability() + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

}  // namespace lockstep
