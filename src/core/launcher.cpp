#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>

#include "lockstep/core/runtime.hpp"

namespace lockstep {
namespace {

// A launcher's variable as a non-negative number; nothing when it is unset or no number.
std::optional<long> number(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view view(text);
  long value = 0;
  const auto [end, status] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (status != std::errc{} || end != view.data() + view.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<Launcher> announced(const char* name, const char* rank, const char* size) {
  const auto size_value = number(size);
  if (!size_value || *size_value == 0 || *size_value > std::numeric_limits<int>::max()) return std::nullopt;
  return Launcher{static_cast<int>(number(rank).value_or(0)), static_cast<int>(*size_value), name};
}

// Slurm describes the job in every process of it. Only a step that srun started speaks of this process; the
// batch script and interactive shells carry reserved step numbers or none.
bool in_srun_step() {
  constexpr long first_reserved_step = 0xfffffff0L;
  const auto step = number("SLURM_STEP_ID");
  return step && *step < first_reserved_step && number("SLURM_PROCID");
}

}  // namespace

Launcher Launcher::detect() {
  if (auto found = announced("mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")) return *found;
  if (in_srun_step()) {
    if (auto found = announced("srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS")) return *found;
    if (auto found = announced("srun", "SLURM_PROCID", "SLURM_NTASKS")) return *found;
  }
  if (auto found = announced("mpirun", "PMI_RANK", "PMI_SIZE")) return *found;
  return {};
}

}  // namespace lockstep
