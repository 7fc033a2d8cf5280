#include "lockstep/comm/communicator.hpp"

#include <exception>
#include <utility>

#include "communicator_handle.hpp"
#include "core/mpi_check.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::comm {

Communicator::Handle::Handle(MPI_Comm made) : comm(made) {
  LOCKSTEP_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  LOCKSTEP_MPI(MPI_Comm_rank(comm, &rank));
  LOCKSTEP_MPI(MPI_Comm_size(comm, &size));
}

Communicator::Handle::~Handle() {
  // Freeing is collective: no rank that unwinds may expect the others to join in.
  if (std::uncaught_exceptions() > 0) return;
  int finalized = 0;
  if (MPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0) MPI_Comm_free(&comm);
}

Communicator Communicator::world() {
  int initialized = 0;
  LOCKSTEP_MPI(MPI_Initialized(&initialized));
  if (initialized == 0)
    throw ContractError("Communicator::world without a live Runtime: make the Runtime first");
  MPI_Comm made = MPI_COMM_NULL;
  LOCKSTEP_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &made));
  return Communicator(std::make_unique<Handle>(made));
}

Communicator::Communicator(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

Communicator Communicator::duplicate() const {
  MPI_Comm made = MPI_COMM_NULL;
  LOCKSTEP_MPI(MPI_Comm_dup(handle_->comm, &made));
  return Communicator(std::make_unique<Handle>(made));
}

Communicator Communicator::split(int color, int key) const {
  if (color < 0) throw ContractError("Communicator::split needs a color of 0 or more");
  MPI_Comm made = MPI_COMM_NULL;
  LOCKSTEP_MPI(MPI_Comm_split(handle_->comm, color, key, &made));
  return Communicator(std::make_unique<Handle>(made));
}

Communicator Communicator::split_node() const {
  MPI_Comm made = MPI_COMM_NULL;
  LOCKSTEP_MPI(MPI_Comm_split_type(handle_->comm, MPI_COMM_TYPE_SHARED, handle_->rank, MPI_INFO_NULL, &made));
  return Communicator(std::make_unique<Handle>(made));
}

int Communicator::rank() const noexcept {
  return handle_->rank;
}
int Communicator::size() const noexcept {
  return handle_->size;
}

}  // namespace lockstep::comm
