#include "lockstep/staging/buffer.hpp"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace lockstep::staging {

void tune_allocator() noexcept {
#if defined(__GLIBC__)
  // mallopt refuses a larger mmap threshold (HEAP_MAX_SIZE / 2); blocks above it stay one mmap each.
  constexpr int largest_mmap_threshold = 4 * 1024 * 1024 * static_cast<int>(sizeof(long));
  mallopt(M_MMAP_THRESHOLD, largest_mmap_threshold);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 16 << 20);
#endif
}

}  // namespace lockstep::staging
