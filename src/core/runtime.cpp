#include "lockstep/core/runtime.hpp"

#include <chrono>
#include <memory>
#include <optional>

#include "arithmetic.hpp"
#include "kokkos.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/hash.hpp"
#include "lockstep/core/host.hpp"
#include "lockstep/core/log.hpp"
#include "mpi_check.hpp"
#include "mpi_session.hpp"
#include "signals.hpp"

namespace lockstep {
namespace {

void check_threads(int threads) {
  if (threads < 1) throw ContractError(fmt::format("threads is {}; a rank needs at least 1", threads));
}

// srun without a matching --mpi starts N programs that each believe to be alone and overwrite one another's
// files.
void check_launcher(const Launcher& launcher, int size) {
  if (launcher.name.empty() || launcher.size == size) return;
  throw CommError(
      fmt::format("{} announced {} ranks but MPI sees {}: the launcher and this MPI library do not speak "
                  "with each other. Under "
                  "Slurm, start with `srun --mpi=pmix` (or the type that `srun --mpi=list` shows for this "
                  "MPI), else with the "
                  "mpirun of the MPI that Lockstep was built with",
                  launcher.name, launcher.size, size));
}

// Collective. The lowest of all ranks' capabilities, so that mixed nodes take one code path.
bool every_rank_has_avx2() {
  int mine = cpu_has_avx2() ? 1 : 0;
  int all = 0;
  LOCKSTEP_MPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  return all == 1;
}

// Collective. Other kernels on some rank cost bits, not correctness: say so and go on.
void compare_arithmetic() {
  const std::string mine = describe_arithmetic();
  std::uint64_t root = hash64(mine);
  LOCKSTEP_MPI(MPI_Bcast(&root, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
  if (root == hash64(mine)) return;
  log::warning(
      fmt::format("arithmetic differs from rank 0's ({}): results may depend on which rank does what", mine));
}

}  // namespace

struct Runtime::State {
  int rank = 0;
  int size = 1;
  std::string host;
  int exceptions_at_start = std::uncaught_exceptions();
  bool finished = false;
  std::optional<StopSignals> signals;
};

// What has been started when a later part throws stays so: run_guarded ends it, or everyone.
Runtime::Runtime(int argc, char** argv, const RuntimeOptions& options) {
  check_threads(options.threads);
  auto state = std::make_unique<State>();
  state->host = host_name();
  start_mpi(argc, argv);
  state->rank = world_rank();
  state->size = world_size();
  check_launcher(Launcher::detect(), state->size);
  log::start(state->rank, state->size);
  choose_blas_path(every_rank_has_avx2());
  set_torch_threads(options.threads);
  start_kokkos();
  compare_arithmetic();
  state->signals.emplace();  // last: libraries install handlers of their own
  state_ = state.release();
}

Runtime::~Runtime() {
  const std::unique_ptr<State> state(state_);
  state->signals.reset();
  const bool unwinding = std::uncaught_exceptions() > state->exceptions_at_start;
  // MPI_Finalize waits for every rank. When this one did not come to its normal end the others may never do:
  // it leaves MPI running, and run_guarded decides.
  if (!unwinding && (state->finished || state->size == 1)) end_libraries();
}

int Runtime::rank() const noexcept {
  return state_->rank;
}

int Runtime::size() const noexcept {
  return state_->size;
}

const std::string& Runtime::host() const noexcept {
  return state_->host;
}

std::string Runtime::arithmetic() const {
  return describe_arithmetic();
}

void Runtime::set_threads(int threads) {
  check_threads(threads);
  set_torch_threads(threads);
}

bool Runtime::stop_requested() const noexcept {
  return StopSignals::received();
}

void Runtime::finish() {
  log::flush();
  meet_all();
  state_->finished = true;
}

double now_seconds() noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace lockstep
