// Private: a set of MPI messages in flight. Large ones are cut into pieces, since MPI counts are int.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace lockstep::comm {

class Exchange {
 public:
  explicit Exchange(MPI_Comm comm, std::size_t largest_message = std::size_t{1} << 30)
      : comm_(comm), largest_message_(largest_message) {}

  void send(const std::byte* data, std::size_t bytes, int to, int tag);
  void receive(std::byte* data, std::size_t bytes, int from, int tag);
  void add(MPI_Request request) { requests_.push_back(request); }

  bool done();  // advances without blocking; true, from then on, once every message is complete

 private:
  MPI_Comm comm_;
  std::size_t largest_message_;
  std::vector<MPI_Request> requests_;
};

}  // namespace lockstep::comm
