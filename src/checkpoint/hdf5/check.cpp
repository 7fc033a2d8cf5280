#include "checkpoint/hdf5/check.hpp"

#include <string>

#include "lockstep/core/error.hpp"

namespace lockstep::checkpoint::hdf5 {
namespace {

herr_t append_description(unsigned, const H5E_error2_t* error, void* text) {
  auto& out = *static_cast<std::string*>(text);
  if (!out.empty()) out += "; ";
  out += std::string(error->func_name) + ": " + error->desc;
  return 0;
}

}  // namespace

void silence() noexcept {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

void fail(const char* expression, std::source_location where) {
  std::string stack;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, append_description, &stack);
  H5Eclear2(H5E_DEFAULT);
  throw IoError(std::string("HDF5: ") + expression + " failed: " + stack, where);
}

}  // namespace lockstep::checkpoint::hdf5
