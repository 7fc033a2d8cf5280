// Private: every MPI call goes through LOCKSTEP_MPI, which throws CommError with the call, MPI's text and the
// place.
//
// The communicators carry MPI_ERRORS_RETURN. An error handler that throws would unwind through MPI's C
// frames, which is undefined; to return the code and throw here has the same effect for the caller.
#pragma once

#include <mpi.h>

#include <source_location>

#define LOCKSTEP_MPI(call) ::lockstep::check_mpi((call), #call)

namespace lockstep {

// Throws CommError unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call, std::source_location where = std::source_location::current());

}  // namespace lockstep
