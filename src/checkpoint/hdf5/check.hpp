// Turns HDF5's return codes into errors that carry its error stack's text.
#pragma once

#include <hdf5.h>

#include <source_location>

namespace lockstep::checkpoint::hdf5 {

// HDF5 prints its error stack on every failed call unless told not to; ours goes into the error. Cheap;
// idempotent.
void silence() noexcept;

// Throws IoError "HDF5: EXPRESSION failed: ..." with the error stack, innermost cause last, and clears the
// stack.
[[noreturn]] void fail(const char* expression, std::source_location where);

template <class Result>
Result checked(Result result, const char* expression,
               std::source_location where = std::source_location::current()) {
  if (result < 0) fail(expression, where);
  return result;
}

}  // namespace lockstep::checkpoint::hdf5

// The value of an HDF5 call, or IoError when it is negative.
#define LOCKSTEP_HDF5(call) ::lockstep::checkpoint::hdf5::checked((call), #call)
