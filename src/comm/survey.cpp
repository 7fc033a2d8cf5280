#include "survey.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/mpi_check.hpp"
#include "lockstep/core/runtime.hpp"
#include "tags.hpp"

namespace lockstep::comm {
namespace {

constexpr double patience_s = 1.0;

// Eight bytes go out eagerly: the send does not wait for a rank that never receives.
void post(std::uint64_t sequence, int to, int tag, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  auto* message = new std::uint64_t(sequence);  // left to MPI: nobody can say when a lost rank lets go of it
  LOCKSTEP_MPI(MPI_Isend(message, 1, MPI_UINT64_T, to, tag, comm, &request));
  LOCKSTEP_MPI(MPI_Request_free(&request));
}

// The sender of a waiting message with this tag, or -1.
int waiting_sender(int tag, MPI_Comm comm) {
  int there = 0;
  MPI_Status status;
  LOCKSTEP_MPI(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm, &there, &status));
  return there != 0 ? status.MPI_SOURCE : -1;
}

std::uint64_t take(int from, int tag, MPI_Comm comm) {
  std::uint64_t sequence = 0;
  LOCKSTEP_MPI(MPI_Recv(&sequence, 1, MPI_UINT64_T, from, tag, comm, MPI_STATUS_IGNORE));
  return sequence;
}

}  // namespace

Survey::Survey(MPI_Comm comm) : comm_(comm) {
  LOCKSTEP_MPI(MPI_Comm_rank(comm_, &rank_));
  LOCKSTEP_MPI(MPI_Comm_size(comm_, &size_));
}

void Survey::answer(std::uint64_t sequence) {
  for (int from = waiting_sender(tags::question, comm_); from >= 0;
       from = waiting_sender(tags::question, comm_)) {
    take(from, tags::question, comm_);
    post(sequence, from, tags::answer, comm_);
  }
}

bool Survey::take_answer(std::vector<bool>& arrived, std::uint64_t sequence) {
  const int from = waiting_sender(tags::answer, comm_);
  if (from < 0) return false;
  if (take(from, tags::answer, comm_) >= sequence) arrived[static_cast<std::size_t>(from)] = true;
  return true;
}

std::string Survey::absent(std::uint64_t sequence) {
  std::vector<bool> arrived(static_cast<std::size_t>(size_), false);
  arrived[static_cast<std::size_t>(rank_)] = true;
  for (int r = 0; r < size_; ++r) {
    if (r != rank_) post(sequence, r, tags::question, comm_);
  }
  const double start = now_seconds();
  while (now_seconds() - start < patience_s &&
         std::find(arrived.begin(), arrived.end(), false) != arrived.end()) {
    answer(sequence);
    if (!take_answer(arrived, sequence)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::string text;
  for (int r = 0; r < size_; ++r) {
    if (arrived[static_cast<std::size_t>(r)]) continue;
    if (!text.empty()) text += ", ";
    text += peers_ ? peers_->describe(r) : fmt::format("rank {}", r);
  }
  return text;
}

}  // namespace lockstep::comm
