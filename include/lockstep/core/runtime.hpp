// What a process needs around it: MPI, Kokkos, threads, signals, in one RAII object; and the one top-level
// catch.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>

namespace lockstep {

// What the launcher announced in the environment (Open MPI, Slurm, PMI), read without MPI. One rank when
// nothing did.
struct Launcher {
  int rank = 0;
  int size = 1;
  std::string name;  // "mpirun", "srun" or "" when started alone
  static Launcher detect();
};

struct RuntimeOptions {
  int threads = 1;  // of one rank, for torch and the BLAS
};

// MPI_Init_thread(MPI_THREAD_MULTIPLE, checked), errors returned and thrown as CommError, Kokkos, torch
// threads, MKL_CBWR set before the first product, signal handlers last. Throws CommError when the launcher's
// rank count differs from MPI's. Torn down in reverse; while an exception unwinds the destructor waits for
// nobody.
class Runtime {
 public:
  Runtime(int argc, char** argv, const RuntimeOptions& options);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  int rank() const noexcept;
  int size() const noexcept;
  const std::string& host() const noexcept;
  // The value of MKL_CBWR in force and the BLAS's thread count, for the log and the checkpoint.
  std::string arithmetic() const;
  // Changes the thread count (the deck is read after the runtime starts).
  void set_threads(int threads);

  // SIGTERM, SIGUSR1 or SIGINT came since the start. A flag only: ranks agree on it elsewhere.
  bool stop_requested() const noexcept;

  // Collective: a barrier after the last durable write, then MPI may end. Call on every normal end.
  void finish();

 private:
  struct State;
  State* state_;
};

// Runs `body` and returns its exit code. The one place that catches: an exception on any rank is logged with
// rank, host, cause and source line, and when MPI runs with several ranks MPI_Abort ends them all; else the
// error's exit code is returned. An InputError that every rank throws together (`agreed` below) is printed
// once, by rank 0, and ends with code 2 on all, without MPI_Abort.
int run_guarded(const std::function<int()>& body) noexcept;

// Seconds of a monotonic clock.
double now_seconds() noexcept;

}  // namespace lockstep
