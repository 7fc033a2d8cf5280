#include "checkpoint/plan_cache.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <span>

#include "checkpoint/state_names.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/hash.hpp"
#include "lockstep/core/posix_file.hpp"

namespace lockstep::checkpoint {
namespace {

std::string hash_of(const std::string& text) {
  return hash128(as_bytes(text)).hex();
}

// What must be equal on all ranks, one sentence an entry.
std::vector<std::string> descriptions(const StateView& state) {
  std::vector<std::string> all;
  all.reserve(state.entries.size());
  for (const StateEntry& entry : state.entries) {
    all.push_back(
        fmt::format("\"{}\" {} [{}]", entry.name, to_string(entry.dtype), fmt::join(entry.shape, ", ")));
  }
  return all;
}

[[noreturn]] void throw_disagreement(comm::Collectives& collectives, const Contents& contents) {
  auto mine = descriptions(contents.state);
  mine.push_back(fmt::format("round {}", contents.round));
  const std::vector<std::string> all =
      comm::all_gather_text(collectives, fmt::format("{}", fmt::join(mine, "\n")));
  const auto other =
      std::find_if(all.begin(), all.end(), [&](const std::string& text) { return text != all[0]; });
  const auto [first, second] = std::mismatch(all[0].begin(), all[0].end(), other->begin(), other->end());
  const auto line = [](const std::string& text, std::string::const_iterator at) {
    const auto offset = static_cast<std::size_t>(at - text.begin());
    const std::size_t begin = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;
    return text.substr(begin, text.find('\n', offset) - begin);
  };
  throw ContractError(fmt::format("the ranks disagree on the state to write: rank 0 has {}, rank {} has {}",
                                  line(all[0], first), other - all.begin(), line(*other, second)));
}

}  // namespace

const GatherPlan& PlanCache::plan_for(comm::Collectives& collectives, const Contents& contents) {
  const std::string common = fmt::format("{}", fmt::join(descriptions(contents.state), "\n"));
  const std::string extents = pack_extents(contents.state);
  const std::string agreed_on = hash_of(common + fmt::format("\nround {}", contents.round));
  const auto records = comm::all_gather_text(collectives, agreed_on + hash_of(common + extents));
  std::vector<std::string> layouts;
  for (const std::string& record : records) {
    if (!record.starts_with(records[0].substr(0, agreed_on.size())))
      throw_disagreement(collectives, contents);
    layouts.push_back(record.substr(agreed_on.size()));
  }
  if (layouts == layouts_) return plan_;

  check_names(contents.state);
  plan_ = GatherPlan(contents.state.entries, held_runs(collectives, contents.state), chunk_bytes_);
  layouts_ = std::move(layouts);
  return plan_;
}

}  // namespace lockstep::checkpoint
