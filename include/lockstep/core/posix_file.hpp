// Durable files: a descriptor with loops around short and interrupted calls, and names that change whole or
// not at all. Every refusal is an IoError with path and errno text. Local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lockstep {

class PosixFile {
 public:
  // flags and mode as for open(2); close-on-exec is added.
  PosixFile(std::string path, int flags, unsigned mode = 0644);
  ~PosixFile();
  PosixFile(PosixFile&& other) noexcept;
  PosixFile& operator=(PosixFile&& other) noexcept;

  int descriptor() const noexcept { return descriptor_; }
  const std::string& path() const noexcept { return path_; }
  std::uint64_t size() const;  // bytes
  // Whether the path still names this file: false once it was removed, moved or replaced.
  bool at_its_path() const;
  // Reads until `out` is full or the file ends; returns the bytes read.
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const;
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  void truncate(std::uint64_t length);
  // fsync. A failure is final: the kernel may have dropped the dirty pages, so a second try would prove
  // nothing.
  void sync();

 private:
  std::string path_;
  int descriptor_ = -1;
};

// Throws IoError "WHAT PATH: errno text". Call right after the failed system call.
[[noreturn]] void throw_errno(const std::string& what, const std::string& path);

// fsync of a folder, so that names made or moved in it survive a power cut.
void sync_directory(const std::string& path);
void rename_file(const std::string& from, const std::string& to);
// Removes a name; one that is already gone is fine.
void remove_file(const std::string& path);
// Writes a small file whole or not at all: `temporary`, a name in the same folder, then fsync, rename, fsync
// of the folder. The temporary does not stay.
void replace_file(const std::string& path, const std::string& temporary, const std::string& text);
// Bytes of text, for the functions above.
std::span<const std::byte> as_bytes(const std::string& text) noexcept;

}  // namespace lockstep
