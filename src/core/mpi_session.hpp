// Private to core: MPI's start and end, and what the top-level catch asks of it. Needs no state of ours: MPI
// itself knows whether it runs.
#pragma once

#include <limits>

namespace lockstep {

// MPI_Init_thread with MPI_THREAD_MULTIPLE, errors returned. Throws ContractError when MPI was started before
// and CommError when it gives fewer threads.
void start_mpi(int argc, char** argv);

bool mpi_is_running() noexcept;
// Of MPI_COMM_WORLD while MPI runs; 0 and 1 otherwise.
int world_rank() noexcept;
int world_size() noexcept;

// Collective. Waits, asleep between polls, until every rank is here; false when the deadline passes first.
// Throws CommError when MPI reports an error.
bool meet_all(double deadline_s = std::numeric_limits<double>::infinity());

// Kokkos, then MPI. The second is collective: only on an end that every rank reaches, or alone.
void end_libraries() noexcept;

[[noreturn]] void abort_all(int code) noexcept;

}  // namespace lockstep
