#include "lockstep/staging/buffer.hpp"

#include <Kokkos_Core.hpp>

#include <atomic>
#include <cstring>
#include <utility>

#include "lockstep/core/error.hpp"

namespace lockstep::staging {
namespace {

using HostBytes = Kokkos::View<char*, Kokkos::HostSpace>;

std::atomic<std::size_t> live{0};
std::atomic<std::size_t> peak{0};

void count_up(std::size_t bytes) noexcept {
  const std::size_t now = live.fetch_add(bytes) + bytes;
  std::size_t seen = peak.load();
  while (seen < now && !peak.compare_exchange_weak(seen, now)) {
  }
}

// Counts bytes for as long as they are held, by the Buffer or by anyone who shares its owner.
class Counted {
 public:
  Counted(std::shared_ptr<void> owner, std::size_t bytes) : owner_(std::move(owner)), bytes_(bytes) {
    count_up(bytes_);
  }
  ~Counted() { live.fetch_sub(bytes_); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::shared_ptr<void> owner_;
  std::size_t bytes_;
};

std::shared_ptr<HostBytes> make_view(std::size_t bytes, const std::string& label) {
  if (!Kokkos::is_initialized()) {
    throw ContractError("staging buffer \"" + label +
                        "\" asked for without a live Runtime: make the Runtime first");
  }
  auto* view = new HostBytes(Kokkos::view_alloc(Kokkos::WithoutInitializing, label), bytes);
  // Touched here, by the thread that will use it, so that no page fault is left for the step.
  std::memset(view->data(), 0, bytes);
  return {view, [](HostBytes* held) {
            // Kokkos throws, inside a destructor, when it frees after its end; the process's end frees as
            // well.
            if (Kokkos::is_initialized()) delete held;
          }};
}

}  // namespace

Buffer::Buffer() noexcept = default;

Buffer::Buffer(std::size_t bytes, const std::string& label) : size_(bytes) {
  if (bytes == 0) return;
  std::shared_ptr<HostBytes> view = make_view(bytes, label);
  data_ = reinterpret_cast<std::byte*>(view->data());
  owner_ = std::make_shared<Counted>(std::move(view), bytes);
}

Buffer::Buffer(std::shared_ptr<void> owner, std::byte* data, std::size_t bytes)
    : owner_(std::make_shared<Counted>(std::move(owner), bytes)), data_(data), size_(bytes) {}

Buffer::~Buffer() = default;

Buffer::Buffer(Buffer&& other) noexcept
    : owner_(std::move(other.owner_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  owner_ = std::move(other.owner_);
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

std::size_t live_bytes() noexcept {
  return live.load();
}
std::size_t peak_bytes() noexcept {
  return peak.load();
}
void reset_peak() noexcept {
  peak.store(live.load());
}

}  // namespace lockstep::staging
