#include "mpi_check.hpp"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <string_view>

#include "lockstep/core/error.hpp"

namespace lockstep {

void check_mpi(int code, const char* call, std::source_location where) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  throw CommError(
      fmt::format("{} failed: {} (MPI code {})", call, std::string_view(text.data(), length), code), where);
}

}  // namespace lockstep
