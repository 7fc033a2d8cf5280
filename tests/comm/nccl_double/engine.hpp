// Private to the double: streams, and who runs next.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "nccl_double.hpp"

namespace lockstep::nccl_double {

// A piece of work on a stream.
class Task {
 public:
  virtual ~Task() = default;
  virtual bool ready() const { return true; }
  virtual bool step() = 0;                                     // goes on; true when done
  virtual bool belongs_to(ncclComm_t) const { return false; }  // ends with the abort of that communicator
};

void enqueue(cudaStream_t stream, std::unique_ptr<Task> task);
// Runs a few steps of tasks at the heads of their streams, chosen at random.
void progress();
// Takes the tasks of a communicator from every stream.
void drop(ncclComm_t communicator);

void note(std::string call);
void violate(std::string sentence);
std::string name_of(cudaStream_t stream);
bool fails(const char* call);  // whether the test wants this call to fail
MPI_Comm messages();           // all ranks

}  // namespace lockstep::nccl_double

struct CUstream_st {
  int number = 0;
  std::deque<std::unique_ptr<lockstep::nccl_double::Task>> tasks;
};

struct CUevent_st {
  std::uint64_t recorded = 0;  // the newest record
  std::uint64_t reached = 0;   // the newest that its stream came past
};
