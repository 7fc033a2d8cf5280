// Private: tells the core that this is a spin loop.
#pragma once

namespace lockstep::comm {

inline void cpu_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace lockstep::comm
