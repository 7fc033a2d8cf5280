// Keeps two jobs out of one run directory.
#pragma once

#include <memory>
#include <string>

namespace lockstep::checkpoint {

// flock on <run directory>/.lock, held until destroyed or the process ends, however it ends. Local: rank 0
// holds one. The file, which stays, says who holds or held it: host, process number, start time.
class RunLock {
 public:
  // Never waits. InputError naming the holder when another process has it; InputError when the file cannot be
  // made. Where the file system has no locks it warns and goes on.
  explicit RunLock(const std::string& run_directory);
  ~RunLock();
  RunLock(RunLock&&) noexcept;
  RunLock& operator=(RunLock&&) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::checkpoint
