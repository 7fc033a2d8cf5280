// Typed errors. Each says what was wrong, where, and what would be right; its type fixes the exit code.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

namespace lockstep {

// Process exit codes, the same for every command (docs/design.md, section 4).
enum class ExitCode : int { done = 0, failed = 1, bad_input = 2, stopped = 3 };

// Root of every error that Lockstep throws. `where` is the place in the source that threw.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message, std::source_location where);
  ExitCode exit_code() const noexcept { return code_; }
  const std::source_location& where() const noexcept { return where_; }
  // "file.cpp:120", without the build machine's folders.
  std::string place() const;

 private:
  ExitCode code_;
  std::source_location where_;
};

// The user's input is wrong: deck, command line, checkpoint, run directory. Exit code 2.
class InputError : public Error {
 public:
  explicit InputError(const std::string& message,
                      std::source_location where = std::source_location::current());

  // Marks that every rank throws this error at the same point (comm::agreed does). Then rank 0 alone reports
  // it and the job ends in order, without MPI_Abort: throw InputError("...").mark_together();
  InputError& mark_together() noexcept {
    together_ = true;
    return *this;
  }
  bool together() const noexcept { return together_; }

 private:
  bool together_ = false;
};

// A checkpoint that cannot be used: missing, damaged, or of another run. Exit code 2.
class CheckpointError : public InputError {
 public:
  explicit CheckpointError(const std::string& message,
                           std::source_location where = std::source_location::current());
};

// A caller broke a function's stated contract: shape, dtype, name, order of calls. Exit code 1.
class ContractError : public Error {
 public:
  explicit ContractError(const std::string& message,
                         std::source_location where = std::source_location::current());
};

// MPI, shared memory or another rank failed, or a deadline passed. Exit code 1.
class CommError : public Error {
 public:
  explicit CommError(const std::string& message,
                     std::source_location where = std::source_location::current());
};

// The operating system refused a file operation; the message carries path and errno text. Exit code 1.
class IoError : public Error {
 public:
  explicit IoError(const std::string& message, std::source_location where = std::source_location::current());
};

// Numbers went bad: non-finite losses or gradients beyond the allowed skips. Exit code 1.
class NumericError : public Error {
 public:
  explicit NumericError(const std::string& message,
                        std::source_location where = std::source_location::current());
};

}  // namespace lockstep
