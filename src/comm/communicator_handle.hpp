// Private: what a Communicator holds.
#pragma once

#include <mpi.h>

#include "lockstep/comm/communicator.hpp"

namespace lockstep::comm {

struct Communicator::Handle {
  // Takes over `made`, a communicator that nobody else frees.
  explicit Handle(MPI_Comm made);
  ~Handle();
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  MPI_Comm comm;
  int rank = 0;
  int size = 1;
};

}  // namespace lockstep::comm
