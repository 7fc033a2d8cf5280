#include "lockstep/core/version.hpp"

namespace lockstep {

std::string_view version() noexcept {
  return LOCKSTEP_VERSION;
}

std::string_view revision() noexcept {
  return LOCKSTEP_REVISION;
}

}  // namespace lockstep
