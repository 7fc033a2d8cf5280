#include "kokkos.hpp"

#include <Kokkos_Core.hpp>

namespace lockstep {

// Kokkos holds buffers only, its kernels need no threads; nor may it read our command line.
void start_kokkos() {
  if (Kokkos::is_initialized()) return;
#if KOKKOS_VERSION >= 40000
  Kokkos::initialize(Kokkos::InitializationSettings().set_num_threads(1).set_disable_warnings(true));
#else
  Kokkos::InitArguments arguments;
  arguments.num_threads = 1;
  arguments.disable_warnings = true;
  Kokkos::initialize(arguments);
#endif
}

void end_kokkos() noexcept {
  if (Kokkos::is_initialized()) Kokkos::finalize();
}

}  // namespace lockstep
