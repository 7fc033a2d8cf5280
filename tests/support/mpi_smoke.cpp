// Bare MPI: when this fails the launcher or the library is broken, not Lockstep.
#include <mpi.h>

#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (size != 2 || sum != 1) {
    std::fprintf(stderr, "the launcher started %d ranks instead of 2 (sum of ranks %d)\n", size, sum);
    return 1;
  }
  return 0;
}
