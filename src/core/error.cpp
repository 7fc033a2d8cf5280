#include "lockstep/core/error.hpp"

#include <string_view>

namespace lockstep {

Error::Error(ExitCode code, const std::string& message, std::source_location where)
    : std::runtime_error(message), code_(code), where_(where) {}

std::string Error::place() const {
  const std::string_view path = where_.file_name();
  const std::size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return std::string(name) + ':' + std::to_string(where_.line());
}

InputError::InputError(const std::string& message, std::source_location where)
    : Error(ExitCode::bad_input, message, where) {}

CheckpointError::CheckpointError(const std::string& message, std::source_location where)
    : InputError(message, where) {}

ContractError::ContractError(const std::string& message, std::source_location where)
    : Error(ExitCode::failed, message, where) {}

CommError::CommError(const std::string& message, std::source_location where)
    : Error(ExitCode::failed, message, where) {}

IoError::IoError(const std::string& message, std::source_location where)
    : Error(ExitCode::failed, message, where) {}

NumericError::NumericError(const std::string& message, std::source_location where)
    : Error(ExitCode::failed, message, where) {}

}  // namespace lockstep
