#include "checkpoint/together.hpp"

#include <exception>
#include <optional>
#include <string>

#include "lockstep/core/error.hpp"

namespace lockstep::checkpoint {
namespace {

std::optional<std::string> failure_of(const std::function<void()>& body) {
  try {
    body();
    return std::nullopt;
  } catch (const CommError&) {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

void together(comm::Collectives& collectives, const std::function<void()>& body) {
  const std::optional<std::string> failure = failure_of(body);
  if (!comm::any_rank(collectives, failure.has_value())) return;
  // The first character tells a failure with an empty message from none.
  const auto verdicts = comm::all_gather_text(collectives, failure ? "!" + *failure : "");
  for (std::size_t rank = 0; rank < verdicts.size(); ++rank) {
    if (verdicts[rank].empty()) continue;
    throw IoError((rank == 0 ? "" : "rank " + std::to_string(rank) + ": ") + verdicts[rank].substr(1));
  }
}

}  // namespace lockstep::checkpoint
