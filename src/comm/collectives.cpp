#include "lockstep/comm/collectives.hpp"

#include <utility>

namespace lockstep::comm {

std::string_view to_string(Kind kind) noexcept {
  constexpr std::array<std::string_view, kind_count> names{
      "reduce_scatter", "all_gather", "all_reduce", "broadcast", "gather", "send", "receive", "barrier"};
  return names[static_cast<std::size_t>(kind)];
}

Collectives::Collectives(Communicator communicator, double deadline_s)
    : communicator_(std::move(communicator)), deadline_s_(deadline_s) {}

void Collectives::count(Kind kind, std::uint64_t bytes) noexcept {
  traffic_.calls[static_cast<std::size_t>(kind)] += 1;
  traffic_.bytes[static_cast<std::size_t>(kind)] += bytes;
}

}  // namespace lockstep::comm
