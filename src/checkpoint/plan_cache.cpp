#include "checkpoint/plan_cache.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "checkpoint/posix_file.hpp"
#include "checkpoint/state_names.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/hash.hpp"

namespace lockstep::checkpoint {
namespace {

std::string hash_of(const std::string& text) {
  return hash128(as_bytes(text)).hex();
}

// What must be equal on all ranks, one sentence an entry.
std::vector<std::string> descriptions(const StateView& state) {
  std::vector<std::string> all;
  for (const StateEntry& entry : state.entries) {
    all.push_back(
        fmt::format("\"{}\" {} [{}]", entry.name, to_string(entry.dtype), fmt::join(entry.shape, ", ")));
  }
  return all;
}

void append_number(std::string& text, std::uint64_t number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::uint64_t take_number(std::string_view& text) {
  std::uint64_t number = 0;
  if (text.size() < sizeof number) throw ContractError("a rank's list of extents ends early");
  std::memcpy(&number, text.data(), sizeof number);
  text.remove_prefix(sizeof number);
  return number;
}

// This rank's extents as numbers: for each entry their count, then offset and length of each.
std::string pack_extents(const StateView& state) {
  std::string text;
  for (const StateEntry& entry : state.entries) {
    append_number(text, entry.extents.size());
    for (const Extent& extent : entry.extents) {
      append_number(text, extent.offset);
      append_number(text, extent.length);
    }
  }
  return text;
}

std::vector<std::vector<HeldRun>> unpack_extents(std::string_view text, std::size_t entries) {
  std::vector<std::vector<HeldRun>> runs(entries);
  for (auto& of_entry : runs) {
    for (std::uint64_t left = take_number(text); left > 0; --left) {
      const std::uint64_t offset = take_number(text);
      of_entry.push_back({offset, take_number(text)});
    }
  }
  return runs;
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
  HeldRuns held;
  for (const std::string& text : comm::all_gather_text(collectives, extents)) {
    held.push_back(unpack_extents(text, contents.state.entries.size()));
  }
  plan_ = GatherPlan(contents.state.entries, held, chunk_bytes_);
  layouts_ = std::move(layouts);
  return plan_;
}

}  // namespace lockstep::checkpoint
