#include "mpi_session.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "kokkos.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/runtime.hpp"
#include "mpi_check.hpp"

namespace lockstep {

void start_mpi(int argc, char** argv) {
  int started = 0;
  LOCKSTEP_MPI(MPI_Initialized(&started));
  if (started != 0) throw ContractError("MPI was started before: a process has one Runtime, made once");
  int provided = MPI_THREAD_SINGLE;
  LOCKSTEP_MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  // Other communicators inherit this from the one they are made of.
  LOCKSTEP_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  LOCKSTEP_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  if (provided < MPI_THREAD_MULTIPLE) {
    throw CommError(
        "this MPI does not give MPI_THREAD_MULTIPLE; the checkpoint thread needs it: use an MPI library "
        "built with it");
  }
}

bool mpi_is_running() noexcept {
  int started = 0;
  int ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  return started != 0 && ended == 0;
}

int world_rank() noexcept {
  int rank = 0;
  if (mpi_is_running()) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() noexcept {
  int size = 1;
  if (mpi_is_running()) MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

bool meet_all(double deadline_s) {
  MPI_Request request = MPI_REQUEST_NULL;
  LOCKSTEP_MPI(MPI_Ibarrier(MPI_COMM_WORLD, &request));
  const double start = now_seconds();
  auto pause = std::chrono::microseconds(10);
  for (int done = 0;;) {
    LOCKSTEP_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (done != 0) return true;
    if (now_seconds() - start > deadline_s) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(2000));
  }
}

void end_libraries() noexcept {
  end_kokkos();
  if (mpi_is_running()) MPI_Finalize();
}

void abort_all(int code) noexcept {
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);  // MPI_Abort may return when the launcher is gone
}

}  // namespace lockstep
