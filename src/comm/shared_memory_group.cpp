#include "shared_memory_group.hpp"

#include <sched.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <new>

#include "lockstep/core/error.hpp"

namespace lockstep::comm {
namespace {

// Two lines of 64 bytes: the neighbour that prefetchers fetch along is no other rank's.
constexpr std::size_t line_alignment = 128;
constexpr std::size_t control_bytes = 4096;

std::size_t slot_size(int ranks) noexcept {
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t unit = 64 * n;
  const std::size_t wanted = std::clamp<std::size_t>((std::size_t{8} << 20) / n, 16 << 10, 256 << 10);
  return std::max<std::size_t>(wanted / unit, 1) * unit;
}

// Collective. Whether the cores that the ranks may use, all together, are fewer than the ranks.
bool fewer_cores_than_ranks(Collectives& bootstrap) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  // A mask larger than cpu_set_t cannot be read: such a machine has no fewer cores than ranks.
  if (::sched_getaffinity(0, sizeof(mine), &mine) != 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &mine);
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const std::string& text :
       all_gather_text(bootstrap, std::string(reinterpret_cast<const char*>(&mine), sizeof(mine)))) {
    cpu_set_t theirs;
    std::copy(text.begin(), text.end(), reinterpret_cast<char*>(&theirs));
    CPU_OR(&all, &all, &theirs);
  }
  return CPU_COUNT(&all) < bootstrap.size();
}

}  // namespace

std::string CallMark::text() const {
  std::string text = fmt::format("{} of {} bytes of {}", to_string(kind), bytes, to_string(dtype));
  if (detail != 0) text += fmt::format(", root or operation {}", detail);
  if (allocation != 0) text += fmt::format(", at byte {} of allocation {}", offset, allocation);
  return text;
}

// One rank's part of the control memory; only that rank writes it.
struct alignas(line_alignment) SharedMemoryGroup::Line {
  std::atomic<std::uint64_t> posted{0};
  std::array<CallMark, 2> marks{};  // of the phases posted last and before
};

std::shared_ptr<SharedMemoryGroup> SharedMemoryGroup::make(Collectives& bootstrap, const std::string& name,
                                                           std::string& problem) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "phases are counted across processes");
  static_assert(sizeof(Line) <= control_bytes);
  const std::size_t slots = slot_size(bootstrap.size());
  auto control = SymmetricSegments::make(bootstrap, name, control_bytes + 2 * slots, problem);
  if (control == nullptr) return nullptr;
  return std::shared_ptr<SharedMemoryGroup>(new SharedMemoryGroup(bootstrap, std::move(control), slots));
}

SharedMemoryGroup::SharedMemoryGroup(Collectives& bootstrap, std::shared_ptr<SymmetricSegments> control,
                                     std::size_t slot_bytes)
    : rank_(bootstrap.rank()),
      size_(bootstrap.size()),
      slot_bytes_(slot_bytes),
      control_(std::move(control)),
      peers_(bootstrap),
      crowded_(fewer_cores_than_ranks(bootstrap)) {
  new (control_->base(rank_)) Line;
  bootstrap.barrier().wait();  // nobody looks at a line that is not there yet
}

SharedMemoryGroup::Line& SharedMemoryGroup::line(int rank) const noexcept {
  return *std::launder(reinterpret_cast<Line*>(control_->base(rank)));
}

std::byte* SharedMemoryGroup::slot(int rank, std::uint64_t phase) const noexcept {
  return control_->base(rank) + control_bytes + phase % 2 * slot_bytes_;
}

void SharedMemoryGroup::post(const CallMark& mark) noexcept {
  Line& own = line(rank_);
  ++phase_;
  seen_ = 0;
  own.marks[phase_ % 2] = mark;
  own.posted.store(phase_, std::memory_order_release);
}

bool SharedMemoryGroup::arrived(int rank) const noexcept {
  return line(rank).posted.load(std::memory_order_acquire) >= phase_;
}

bool SharedMemoryGroup::all_arrived() {
  for (; seen_ < size_; ++seen_) {
    if (!arrived(seen_)) return false;
    compare_marks(seen_);
  }
  return true;
}

void SharedMemoryGroup::compare_marks(int rank) const {
  const CallMark& mine = line(rank_).marks[phase_ % 2];
  const CallMark& theirs = line(rank).marks[phase_ % 2];
  if (mine == theirs) return;
  throw CommError(
      fmt::format("ranks are in different collective calls: {} in {}, this rank {} in {}; all ranks must "
                  "make the same calls in "
                  "the same order, on memory from allocate() at the same place",
                  peers_.describe(rank), theirs.text(), rank_, mine.text()));
}

}  // namespace lockstep::comm
