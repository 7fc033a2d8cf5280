#include "shared_windows.hpp"

#include <spdlog/fmt/fmt.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <system_error>

#include "lockstep/core/error.hpp"

namespace lockstep::comm {
namespace {

using staging::SharedSegment;

// Collective. Runs `body`; the first rank's IoError, as text, on all ranks, or "" when none failed.
std::string first_problem(Collectives& bootstrap, const std::function<void()>& body) {
  std::string mine;
  try {
    body();
  } catch (const IoError& error) {
    mine = error.what();
  }
  const std::vector<std::string> all = all_gather_text(bootstrap, mine);
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (!all[r].empty()) return fmt::format("rank {}: {}", r, all[r]);
  }
  return {};
}

}  // namespace

std::shared_ptr<SymmetricSegments> SymmetricSegments::make(Collectives& bootstrap, const std::string& name,
                                                           std::size_t bytes, std::string& problem) {
  const auto name_of = [&](int rank) { return fmt::format("{}-{}", name, rank); };
  std::optional<SharedSegment> own;
  problem = first_problem(bootstrap, [&] { own = SharedSegment::create(name_of(bootstrap.rank()), bytes); });
  if (!problem.empty()) return nullptr;
  auto made = std::make_shared<SymmetricSegments>();
  problem = first_problem(bootstrap, [&] {
    for (int r = 0; r < bootstrap.size(); ++r) {
      made->segments_.push_back(r == bootstrap.rank() ? std::move(*own)
                                                      : SharedSegment::open(name_of(r), bytes));
    }
  });
  // All have mapped what they could: from here on a killed job leaves nothing behind. Every rank removes
  // every name, so that none is left when the first rank goes on.
  for (int r = 0; r < bootstrap.size(); ++r) SharedSegment::unlink(name_of(r));
  return problem.empty() ? made : nullptr;
}

void sweep_remnants() noexcept {
  namespace fs = std::filesystem;
  const auto old = fs::file_time_type::clock::now() - std::chrono::minutes(10);
  std::error_code error;
  for (fs::directory_iterator entry("/dev/shm", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code unknown;
    const fs::file_time_type written = entry->last_write_time(unknown);
    // Another user's cannot be removed: that is as it should be.
    if (name.starts_with("lockstep-") && !unknown && written < old) SharedSegment::unlink("/" + name);
  }
}

void WindowTable::add(const std::shared_ptr<SymmetricSegments>& segments) {
  std::erase_if(entries_, [](const Entry& entry) { return entry.segments.expired(); });
  entries_.push_back({++allocations_, segments});
}

Window WindowTable::find(const void* data, std::size_t bytes) const {
  const auto* first = static_cast<const std::byte*>(data);
  const std::less_equal<> not_after;
  for (const Entry& entry : entries_) {
    std::shared_ptr<SymmetricSegments> segments = entry.segments.lock();
    if (segments == nullptr) continue;
    const std::byte* base = segments->base(rank_);
    if (not_after(base, first) && not_after(first + bytes, base + segments->size())) {
      return {std::move(segments), entry.allocation, static_cast<std::size_t>(first - base)};
    }
  }
  return {};
}

}  // namespace lockstep::comm
