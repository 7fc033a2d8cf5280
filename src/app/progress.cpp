#include "progress.hpp"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "lockstep/core/log.hpp"
#include "lockstep/core/runtime.hpp"

namespace lockstep::app {
namespace {

constexpr std::int64_t lines_a_run = 20;
constexpr double seconds_between_lines = 30;
constexpr double seconds_between_bars = 0.1;
constexpr int bar_width = 28;

double value_of(const History::Row& row, const char* name) {
  const auto found = row.find(name);
  return found == row.end() ? std::nan("") : found->second;
}

// A dash where no episode ended in the round.
std::string return_text(const History::Row& row) {
  const double value = value_of(row, "return_mean");
  return std::isnan(value) ? "-" : fmt::format("{:.1f}", value);
}

// A dash where the round had no steps.
std::string norm_text(const History::Row& row) {
  const double value = value_of(row, "grad_norm");
  return std::isnan(value) ? "-" : fmt::format("{:.3g}", value);
}

std::string clock_text(double seconds) {
  if (seconds < 0) return "--:--";
  const auto whole = static_cast<long>(seconds + 0.5);
  return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string losses_text(const History::Row& row) {
  std::string text;
  for (const auto& [name, value] : row)
    if (name.starts_with("loss") && !std::isnan(value)) text += fmt::format("  {} {:.4g}", name, value);
  return text;
}

}  // namespace

Progress::Progress(bool speaks, std::int64_t planned)
    : speaks_(speaks),
      terminal_(speaks && ::isatty(STDERR_FILENO) && std::getenv("TERM") != nullptr),
      planned_(planned) {}

Progress::~Progress() {
  clear();
}

void Progress::measure(const History::Row& row, double now) {
  const double round = value_of(row, "round"), steps = value_of(row, "environment_steps");
  if (warm_time_ == 0) {
    warm_time_ = now;
    warm_steps_ = steps;
    warm_round_ = round;
    return;
  }
  const double elapsed = now - warm_time_;
  steps_per_second_ = (steps - warm_steps_) / elapsed;
  seconds_left_ = (static_cast<double>(planned_) - round) * elapsed / (round - warm_round_);
}

void Progress::round_done(const History::Row& row) {
  const double now = now_seconds();
  measure(row, now);
  if (!speaks_) return;
  const auto round = static_cast<std::int64_t>(value_of(row, "round"));
  const std::int64_t interval = std::max<std::int64_t>((planned_ + lines_a_run - 1) / lines_a_run, 1);
  const bool evaluated = !std::isnan(value_of(row, "evaluation_return_mean"));
  if (round % interval == 0 || round == planned_ || evaluated || now - last_line_ > seconds_between_lines) {
    clear();
    last_line_ = now;
    std::string line = fmt::format(
        "round {}/{}  step {:.0f}  environment_steps {:.0f}  return {}{}  grad_norm {}  {:.0f} steps/s  "
        "left {}",
        round, planned_, value_of(row, "step"), value_of(row, "environment_steps"), return_text(row),
        losses_text(row), norm_text(row), steps_per_second_, clock_text(seconds_left_));
    if (evaluated) line += fmt::format("  evaluation return {:.1f}", value_of(row, "evaluation_return_mean"));
    log::info(line);
  }
  if (terminal_ && now - last_drawn_ > seconds_between_bars) draw(row);
}

void Progress::draw(const History::Row& row) {
  last_drawn_ = now_seconds();
  drawn_ = true;
  const double share = value_of(row, "round") / static_cast<double>(std::max<std::int64_t>(planned_, 1));
  const int filled = static_cast<int>(share * bar_width);
  const std::string bar = std::string(static_cast<std::size_t>(filled), '#') +
                          std::string(static_cast<std::size_t>(bar_width - filled), '.');
  std::fputs(fmt::format("\r[{}] {:3.0f} %  return {}  {:.0f} steps/s  left {} \x1b[K", bar, 100 * share,
                         return_text(row), steps_per_second_, clock_text(seconds_left_))
                 .c_str(),
             stderr);
  std::fflush(stderr);
}

void Progress::clear() {
  if (!drawn_) return;
  drawn_ = false;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

}  // namespace lockstep::app
