// Private: finds out, when a deadline passes, which ranks never came: each waiting rank answers how far it
// is.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "peers.hpp"

namespace lockstep::comm {

class Survey {
 public:
  explicit Survey(MPI_Comm comm);

  void know(Peers peers) { peers_ = std::move(peers); }
  // Answers what other ranks asked: this rank waits in collective number `sequence`.
  void answer(std::uint64_t sequence);
  // Asks all ranks and waits up to a second: the ranks that do not wait in collective `sequence` or a later
  // one, as a phrase.
  std::string absent(std::uint64_t sequence);

 private:
  bool take_answer(std::vector<bool>& arrived, std::uint64_t sequence);

  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  std::optional<Peers> peers_;
};

}  // namespace lockstep::comm
