// A group of ranks. Hides MPI: no MPI type is visible here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockstep::comm {

// Move-only handle of an MPI communicator of its own. Destroyed before the Runtime; while an exception
// unwinds the destructor frees nothing collectively.
class Communicator {
 public:
  // Collective over all ranks: a duplicate of MPI_COMM_WORLD. Needs a live Runtime.
  static Communicator world();
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  ~Communicator();

  Communicator duplicate() const;                // collective
  Communicator split(int color, int key) const;  // collective
  Communicator split_node() const;               // collective: the ranks that share this node's memory

  int rank() const noexcept;
  int size() const noexcept;

  struct Handle;  // holds the MPI_Comm; defined beside the implementation
  const Handle& handle() const noexcept { return *handle_; }

 private:
  explicit Communicator(std::unique_ptr<Handle> handle);
  std::unique_ptr<Handle> handle_;
};

}  // namespace lockstep::comm
