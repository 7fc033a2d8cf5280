#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "lockstep/core/error.hpp"
#include "lockstep/staging/buffer.hpp"

namespace lockstep::staging {
namespace {

[[noreturn]] void fail(const std::string& action, const std::string& name, std::size_t bytes, int error) {
  throw IoError(
      fmt::format("shared memory {} ({} bytes): cannot {}: {}", name, bytes, action, std::strerror(error)));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  ~Descriptor() { ::close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const noexcept { return fd_; }

 private:
  int fd_;
};

int allocate_space(int fd, std::size_t bytes) {
  int error = 0;
  do {
    error = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  } while (error == EINTR);
  return error;
}

std::shared_ptr<void> map(int fd, const std::string& name, std::size_t bytes) {
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (address == MAP_FAILED) fail("map it", name, bytes, errno);
  return {address, [bytes](void* mapped) { ::munmap(mapped, bytes); }};
}

}  // namespace

SharedSegment SharedSegment::create(const std::string& name, std::size_t bytes) {
  const int raw = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (raw < 0) fail("create it", name, bytes, errno);
  const Descriptor fd(raw);
  SharedSegment segment;
  segment.name_ = name;  // from here on the destructor removes the name
  if (const int error = allocate_space(fd, bytes); error != 0) fail("allocate its space", name, bytes, error);
  segment.mapping_ = map(fd, name, bytes);
  segment.data_ = static_cast<std::byte*>(segment.mapping_.get());
  segment.size_ = bytes;
  return segment;
}

SharedSegment SharedSegment::open(const std::string& name, std::size_t bytes) {
  const int raw = ::shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (raw < 0) fail("open it", name, bytes, errno);
  const Descriptor fd(raw);
  struct stat status {};
  if (::fstat(fd, &status) != 0) fail("measure it", name, bytes, errno);
  // A mapping beyond the end would be a SIGBUS at its first use.
  if (static_cast<std::size_t>(status.st_size) < bytes) fail("map it whole", name, bytes, EOVERFLOW);
  SharedSegment segment;
  segment.mapping_ = map(fd, name, bytes);
  segment.data_ = static_cast<std::byte*>(segment.mapping_.get());
  segment.size_ = bytes;
  return segment;
}

void SharedSegment::unlink(const std::string& name) noexcept {
  ::shm_unlink(name.c_str());
}

void SharedSegment::unlink() noexcept {
  if (name_.empty()) return;
  unlink(name_);
  name_.clear();
}

SharedSegment::~SharedSegment() {
  unlink();
}

SharedSegment::SharedSegment(SharedSegment&& other) noexcept
    : name_(std::exchange(other.name_, {})),
      mapping_(std::move(other.mapping_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
  if (this == &other) return *this;
  unlink();
  name_ = std::exchange(other.name_, {});
  mapping_ = std::move(other.mapping_);
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

std::byte* SharedSegment::data() const noexcept {
  return data_;
}
std::size_t SharedSegment::size() const noexcept {
  return size_;
}
std::shared_ptr<void> SharedSegment::owner() const noexcept {
  return mapping_;
}

}  // namespace lockstep::staging
