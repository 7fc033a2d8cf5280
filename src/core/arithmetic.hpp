// Private to core: what besides our code decides the bits of a product: threads, the BLAS's code path, the
// kernels' kind.
#pragma once

#include <string>

namespace lockstep {

bool cpu_has_avx2() noexcept;
// Sets MKL_CBWR unless the user did: operands at any address then give the same bits. Before the first
// product.
void choose_blas_path(bool avx2) noexcept;
void set_torch_threads(int threads);
// "MKL_CBWR=AVX2, kernels AVX512, 1 thread"
std::string describe_arithmetic();

}  // namespace lockstep
