// Private to core: Kokkos' start and end, apart because its header takes seconds to compile.
#pragma once

namespace lockstep {

void start_kokkos();
void end_kokkos() noexcept;

}  // namespace lockstep
