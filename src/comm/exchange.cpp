#include "exchange.hpp"

#include <algorithm>

#include "core/mpi_check.hpp"

namespace lockstep::comm {
namespace {

// Calls post(offset, bytes) for each piece; none for an empty message, on both sides alike.
template <class Post>
void in_pieces(std::size_t bytes, std::size_t largest, Post&& post) {
  for (std::size_t offset = 0; offset < bytes; offset += largest) {
    post(offset, static_cast<int>(std::min(largest, bytes - offset)));
  }
}

}  // namespace

void Exchange::send(const std::byte* data, std::size_t bytes, int to, int tag) {
  in_pieces(bytes, largest_message_, [&](std::size_t offset, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    LOCKSTEP_MPI(MPI_Isend(data + offset, count, MPI_BYTE, to, tag, comm_, &request));
    requests_.push_back(request);
  });
}

void Exchange::receive(std::byte* data, std::size_t bytes, int from, int tag) {
  in_pieces(bytes, largest_message_, [&](std::size_t offset, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    LOCKSTEP_MPI(MPI_Irecv(data + offset, count, MPI_BYTE, from, tag, comm_, &request));
    requests_.push_back(request);
  });
}

bool Exchange::done() {
  if (requests_.empty()) return true;
  int complete = 0;
  LOCKSTEP_MPI(
      MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &complete, MPI_STATUSES_IGNORE));
  if (complete != 0) requests_.clear();
  return complete != 0;
}

}  // namespace lockstep::comm
