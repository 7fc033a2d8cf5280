#include "lockstep/core/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/core/error.hpp"
#include "log_file.hpp"

namespace lockstep::log {
namespace {

// The project's one piece of global state.
class Logger {
 public:
  Logger() : terminal_(std::make_shared<spdlog::sinks::stderr_color_sink_mt>()) {
    // spdlog colours only a terminal that can; https://no-color.org asks for a way to say no.
    if (std::getenv("NO_COLOR") != nullptr) terminal_->set_color_mode(spdlog::color_mode::never);
    terminal_->set_color(spdlog::level::info, terminal_->reset);
    terminal_->set_pattern("%^%v%$");
  }

  void start(int rank, int size) {
    const std::lock_guard lock(mutex_);
    rank_ = rank;
    tag_ = size > 1 ? fmt::format("[rank {}] ", rank) : "";
    level_ = rank == 0 ? spdlog::level::info : spdlog::level::warn;
  }

  void to_file(const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (rank_ != 0) return;
    try {
      file_ = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
    } catch (const spdlog::spdlog_ex& error) {
      throw IoError(fmt::format("cannot write the log file: {}", error.what()));
    }
    file_->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %v");
    for (const auto& [level, line] : waiting_) emit(*file_, level, line);
    waiting_.clear();
  }

  void write(spdlog::level::level_enum level, std::string_view prefix, std::string_view message) {
    const std::lock_guard lock(mutex_);
    if (level < level_) return;
    const std::string_view tag = level == spdlog::level::info ? std::string_view{} : tag_;
    const std::string line = fmt::format("{}{}{}", prefix, tag, one_line(message));
    emit(*terminal_, level, line);
    if (file_)
      emit(*file_, level, line);
    else if (waiting_.size() < most_waiting)
      waiting_.emplace_back(level, line);
  }

  void write_file(std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (file_) emit(*file_, spdlog::level::err, line);
  }

  void flush() {
    const std::lock_guard lock(mutex_);
    terminal_->flush();
    if (file_) file_->flush();
  }

 private:
  // A log that cannot be written (a full disk) must not end a run: the line is lost.
  static void emit(spdlog::sinks::sink& sink, spdlog::level::level_enum level,
                   std::string_view line) noexcept {
    try {
      sink.log(spdlog::details::log_msg("lockstep", level, spdlog::string_view_t(line.data(), line.size())));
      sink.flush();
    } catch (...) {
      return;
    }
  }

  // What is said before the run directory is open belongs into its log too.
  static constexpr std::size_t most_waiting = 1000;

  std::mutex mutex_;
  std::vector<std::pair<spdlog::level::level_enum, std::string>> waiting_;
  std::shared_ptr<spdlog::sinks::stderr_color_sink_mt> terminal_;
  std::shared_ptr<spdlog::sinks::basic_file_sink_mt> file_;
  spdlog::level::level_enum level_ = spdlog::level::warn;
  std::string tag_;
  int rank_ = 0;
};

Logger& logger() {
  static Logger instance;
  return instance;
}

// Bytes of the well-formed UTF-8 sequence that begins `text`, 0 when it is none. Unicode 15, table 3-7; C1
// control characters (U+0080 to U+009F) count as none, terminals obey them.
std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto within = [&](std::size_t i, unsigned low, unsigned high) {
    return byte(i) >= low && byte(i) <= high;
  };
  const auto tail = [&](std::size_t i) { return within(i, 0x80, 0xbf); };
  const unsigned lead = byte(0);
  if (lead == 0xc2) return within(1, 0xa0, 0xbf) ? 2 : 0;
  if (lead >= 0xc3 && lead <= 0xdf) return tail(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const bool second = within(1, lead == 0xe0 ? 0xa0 : 0x80, lead == 0xed ? 0x9f : 0xbf);
    return second && tail(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const bool second = within(1, lead == 0xf0 ? 0x90 : 0x80, lead == 0xf4 ? 0x8f : 0xbf);
    return second && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

void start(int rank, int size) {
  logger().start(rank, size);
}

void to_file(const std::string& path) {
  logger().to_file(path);
}

void flush() {
  logger().flush();
}

void info(std::string_view message) {
  logger().write(spdlog::level::info, "", message);
}

void warning(std::string_view message) {
  logger().write(spdlog::level::warn, "warning: ", message);
}

void error(std::string_view message) {
  logger().write(spdlog::level::err, "error: ", message);
}

void file_only(std::string_view message) {
  logger().write_file(one_line(message));
}

std::string one_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    std::size_t length = 1;
    if (byte >= 0x20 && byte < 0x7f) {
      line += text.front();
    } else if (byte == '\n') {
      line += "\\n";
    } else if (byte == '\t') {
      line += "\\t";
    } else if (const std::size_t sequence = utf8_length(text); sequence > 0) {
      length = sequence;
      line += text.substr(0, length);
    } else {
      line += fmt::format("\\x{:02x}", byte);
    }
    text.remove_prefix(length);
  }
  return line;
}

}  // namespace lockstep::log
