#include "requirements.hpp"

#include <spdlog/fmt/fmt.h>

#include "lockstep/core/error.hpp"
#include "tags.hpp"

namespace lockstep::comm {

void require_rank(Kind call, int rank, int size) {
  if (rank >= 0 && rank < size) return;
  throw ContractError(fmt::format("{}: no rank {} in a group of {}", to_string(call), rank, size));
}

void require_room(std::span<const std::byte> data, std::span<std::byte> out, int size) {
  const std::size_t needed = data.size() * static_cast<std::size_t>(size);
  if (out.size() == needed) return;
  throw ContractError(fmt::format("gather: the root gives {} bytes for {} ranks of {} bytes; {} are needed",
                                  out.size(), size, data.size(), needed));
}

void require_tag(Kind call, int tag) {
  if (tag >= 0 && tag <= tags::largest_user_tag) return;
  throw ContractError(
      fmt::format("{}: tag {} is outside [0, {}]", to_string(call), tag, tags::largest_user_tag));
}

}  // namespace lockstep::comm
