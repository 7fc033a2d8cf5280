// The small things built on the Collectives interface.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <optional>
#include <source_location>
#include <utility>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::comm {
namespace {

std::span<std::byte> bytes_of(std::string& text) {
  return std::as_writable_bytes(std::span<char>(text));
}

}  // namespace

void merge_sums(Collectives& collectives, std::span<ExactSum> sums) {
  std::vector<std::int64_t> words;
  words.reserve(sums.size() * ExactSum::words);
  for (ExactSum& sum : sums) {
    sum.normalise();
    words.insert(words.end(), sum.raw().begin(), sum.raw().end());
  }
  collectives.all_reduce(words.data(), words.size(), Dtype::int64, ReduceOp::sum).wait();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(i * ExactSum::words), ExactSum::words,
                sums[i].raw().begin());
    sums[i].normalise();
  }
}

std::string broadcast_text(Collectives& collectives, std::string text, int root) {
  std::uint64_t length = text.size();
  collectives.broadcast(std::as_writable_bytes(std::span(&length, 1)), root).wait();
  text.resize(length);
  collectives.broadcast(bytes_of(text), root).wait();
  return text;
}

std::vector<std::string> all_gather_text(Collectives& collectives, const std::string& text) {
  const auto ranks = static_cast<std::size_t>(collectives.size());
  const auto own = static_cast<std::size_t>(collectives.rank());
  std::vector<std::int64_t> lengths(ranks, 0);
  lengths[own] = static_cast<std::int64_t>(text.size());
  collectives.all_reduce(lengths.data(), ranks, Dtype::int64, ReduceOp::sum).wait();
  std::vector<std::size_t> cuts(ranks + 1, 0);
  for (std::size_t r = 0; r < ranks; ++r) cuts[r + 1] = cuts[r] + static_cast<std::size_t>(lengths[r]);
  std::string joined(cuts.back(), '\0');
  joined.replace(cuts[own], text.size(), text);
  collectives.all_gather(joined.data(), cuts, Dtype::uint8).wait();
  std::vector<std::string> texts;
  texts.reserve(ranks);
  for (std::size_t r = 0; r < ranks; ++r) texts.push_back(joined.substr(cuts[r], cuts[r + 1] - cuts[r]));
  return texts;
}

bool any_rank(Collectives& collectives, bool flag) {
  std::int64_t any = flag ? 1 : 0;
  collectives.all_reduce(&any, 1, Dtype::int64, ReduceOp::max).wait();
  return any != 0;
}

void agreed(Collectives& collectives, const std::function<void()>& body) {
  std::optional<InputError> mine;
  try {
    body();
  } catch (const InputError& error) {
    mine = error;
  }
  // The lowest rank that failed; `size` when none did.
  std::int64_t first = mine ? collectives.rank() : collectives.size();
  collectives.all_reduce(&first, 1, Dtype::int64, ReduceOp::min).wait();
  if (first == collectives.size()) return;
  // A source location does not travel: rank 0 reports its own; where another rank found the error, its place
  // goes into the words.
  std::string told;
  auto where = std::source_location::current();
  if (mine && first == collectives.rank()) {
    where = mine->where();
    told = first == 0 ? mine->what() : fmt::format("rank {} at {}: {}", first, mine->place(), mine->what());
  }
  told = broadcast_text(collectives, std::move(told), static_cast<int>(first));
  throw InputError(told, where).mark_together();
}

}  // namespace lockstep::comm
