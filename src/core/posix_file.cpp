#include "lockstep/core/posix_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "lockstep/core/error.hpp"

namespace lockstep {
namespace {

// Repeats a system call that a signal interrupted.
template <class Call>
auto uninterrupted(Call&& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

void throw_errno(const std::string& what, const std::string& path) {
  const int cause = errno;
  throw IoError(what + " " + path + ": " + std::strerror(cause));
}

PosixFile::PosixFile(std::string path, int flags, unsigned mode) : path_(std::move(path)) {
  descriptor_ = uninterrupted([&] { return ::open(path_.c_str(), flags | O_CLOEXEC, mode); });
  if (descriptor_ < 0) throw_errno("cannot open", path_);
}

PosixFile::~PosixFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

PosixFile::PosixFile(PosixFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

PosixFile& PosixFile::operator=(PosixFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

std::uint64_t PosixFile::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) throw_errno("cannot inspect", path_);
  return static_cast<std::uint64_t>(status.st_size);
}

bool PosixFile::at_its_path() const {
  struct stat own {
  }, named{};
  if (::fstat(descriptor_, &own) != 0) throw_errno("cannot inspect", path_);
  if (::stat(path_.c_str(), &named) != 0) return false;
  return own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

std::size_t PosixFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto got = uninterrupted([&] {
      return ::pread(descriptor_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    });
    if (got < 0) throw_errno("cannot read", path_);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void PosixFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto put = uninterrupted([&] {
      return ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done,
                      static_cast<off_t>(offset + done));
    });
    if (put < 0) throw_errno("cannot write", path_);
    if (put == 0) throw IoError("cannot write " + path_ + ": the file system took no bytes");
    done += static_cast<std::size_t>(put);
  }
}

void PosixFile::truncate(std::uint64_t length) {
  if (uninterrupted([&] { return ::ftruncate(descriptor_, static_cast<off_t>(length)); }) != 0) {
    throw_errno("cannot cut", path_);
  }
}

void PosixFile::sync() {
  if (uninterrupted([&] { return ::fsync(descriptor_); }) != 0)
    throw_errno("cannot make durable (fsync)", path_);
}

void sync_directory(const std::string& path) {
  PosixFile(path, O_RDONLY | O_DIRECTORY).sync();
}

void rename_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) throw_errno("cannot rename " + from + " to", to);
}

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw_errno("cannot remove", path);
}

void replace_file(const std::string& path, const std::string& temporary, const std::string& text) {
  try {
    PosixFile file(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
    file.write_at(0, as_bytes(text));
    file.sync();
    rename_file(temporary, path);
  } catch (const IoError&) {
    ::unlink(temporary.c_str());
    throw;
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  sync_directory(folder.empty() ? "." : folder.string());
}

std::span<const std::byte> as_bytes(const std::string& text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace lockstep
