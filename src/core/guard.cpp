// run_guarded: the one place that catches.
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <new>
#include <string_view>
#include <thread>

#include "lockstep/core/error.hpp"
#include "lockstep/core/host.hpp"
#include "lockstep/core/log.hpp"
#include "lockstep/core/runtime.hpp"
#include "log_file.hpp"
#include "mpi_session.hpp"

namespace lockstep {
namespace {

struct Failure {
  std::string cause;
  std::string place;  // empty when unknown
  int code = static_cast<int>(ExitCode::failed);
  bool together = false;
};

// LibTorch appends the stack to its messages; the first lines say what was wrong.
std::string_view without_backtrace(std::string_view text) {
  for (const std::string_view mark : {"\nException raised from", "C++ CapturedTraceback"}) {
    text = text.substr(0, text.find(mark));
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

Failure describe_current_exception() {
  try {
    throw;
  } catch (const InputError& error) {
    return {error.what(), error.place(), static_cast<int>(error.exit_code()), error.together()};
  } catch (const Error& error) {
    return {error.what(), error.place(), static_cast<int>(error.exit_code())};
  } catch (const std::bad_alloc&) {
    return {
        "out of memory: the operating system refused an allocation; `lockstep check` estimates what a rank "
        "needs",
        ""};
  } catch (const std::exception& error) {
    return {std::string(without_backtrace(error.what())), ""};
  } catch (...) {
    return {"an exception that is no std::exception", ""};
  }
}

// One write a report, so that the reports of several ranks do not mix.
void write_error_stream(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// A cause may have several lines; each is escaped and set under the first.
std::string indented(std::string_view text) {
  std::string lines;
  for (;;) {
    const std::size_t end = text.find('\n');
    lines += log::one_line(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    lines += "\n         ";
    text.remove_prefix(end + 1);
  }
}

void report(const Failure& failure, int rank, int size) {
  const std::string who = size > 1 ? fmt::format("rank {} of {} on host {}", rank, size, host_name())
                                   : fmt::format("rank {} on host {}", rank, host_name());
  std::string text = fmt::format("lockstep: error\n  who:   {}\n  cause: {}\n", who, indented(failure.cause));
  if (!failure.place.empty()) text += fmt::format("  where: {}\n", failure.place);
  log::flush();
  write_error_stream(text);
  log::file_only(fmt::format("error: {} ({}{}{})", failure.cause, who, failure.place.empty() ? "" : ", ",
                             failure.place));
}

// Every rank throws the error at the same point, so all can leave in order. A rank that does not come (it
// failed elsewhere) must not hold the others.
int end_together(const Failure& failure) {
  constexpr double deadline_s = 10;
  const bool running = mpi_is_running();
  const Launcher launcher = Launcher::detect();
  const int rank = running ? world_rank() : launcher.rank;
  const int size = running ? world_size() : launcher.size;
  if (rank == 0) report(failure, 0, size);
  if (running) {
    if (!meet_all(deadline_s)) abort_all(failure.code);
    end_libraries();
  } else if (rank != 0) {
    // Launchers kill the rest at the first non-zero exit: rank 0 must have spoken by then.
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return failure.code;
}

int end_after(const Failure& failure) {
  if (failure.together) return end_together(failure);
  const bool running = mpi_is_running();
  const Launcher launcher = Launcher::detect();
  report(failure, running ? world_rank() : launcher.rank, running ? world_size() : launcher.size);
  if (world_size() > 1) abort_all(failure.code);
  end_libraries();
  return failure.code;
}

int run(const std::function<int()>& body) {
  const int code = body();
  if (world_size() > 1)
    throw ContractError("the program ended without Runtime::finish(), other ranks may still work");
  return code;
}

}  // namespace

int run_guarded(const std::function<int()>& body) noexcept {
  try {
    try {
      return run(body);
    } catch (...) {
      return end_after(describe_current_exception());
    }
  } catch (...) {
    // The report itself failed: no memory, or MPI.
    write_error_stream("lockstep: error\n  cause: an exception, and another one while it was reported\n");
    if (world_size() > 1) abort_all(static_cast<int>(ExitCode::failed));
    return static_cast<int>(ExitCode::failed);
  }
}

}  // namespace lockstep
