// Private: every call of the CUDA runtime goes through LOCKSTEP_CUDA, which throws CommError with the call,
// CUDA's text and the place.
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>

#define LOCKSTEP_CUDA(call) ::lockstep::comm::check_cuda((call), #call)

namespace lockstep::comm {

void check_cuda(cudaError_t code, const char* call,
                std::source_location where = std::source_location::current());

}  // namespace lockstep::comm
