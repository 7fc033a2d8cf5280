#include "lockstep/core/fault.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "lockstep/core/error.hpp"

namespace lockstep::fault {
namespace {

struct Plan {
  std::string site;
  std::optional<std::uint64_t> step;  // nothing: any step
  Action action = Action::none;
};

// Set before any other thread runs; `armed` alone changes afterwards, so that a fault happens once.
Plan plan;
std::atomic<bool> armed{false};

constexpr std::array<std::pair<std::string_view, Action>, 6> actions{{{"throw", Action::throw_error},
                                                                      {"kill", Action::kill},
                                                                      {"stop", Action::stop},
                                                                      {"nan", Action::nan},
                                                                      {"flip", Action::flip},
                                                                      {"delay", Action::delay}}};

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw InputError(fmt::format("LOCKSTEP_FAULT=\"{}\": {}; the form is site:rank:step:action", text, why));
}

std::uint64_t parse_number(std::string_view text, std::string_view field, std::string_view what) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (status != std::errc{} || end != field.data() + field.size()) {
    refuse(text, fmt::format("{} \"{}\" is no number", what, field));
  }
  return value;
}

std::array<std::string_view, 4> split(std::string_view text) {
  std::array<std::string_view, 4> fields;
  std::string_view rest = text;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::size_t colon = rest.find(':');
    const bool last = i + 1 == fields.size();
    if (last != (colon == std::string_view::npos)) refuse(text, "it must have four fields");
    fields[i] = rest.substr(0, colon);
    if (!last) rest.remove_prefix(colon + 1);
  }
  return fields;
}

Action parse_action(std::string_view text, std::string_view field) {
  std::string names;
  for (const auto& [name, action] : actions) {
    if (name == field) return action;
    names += fmt::format(" {}", name);
  }
  refuse(text, fmt::format("no action \"{}\"; there are:{}", field, names));
}

void require_site(std::string_view text, std::string_view field) {
  if (std::ranges::find(sites(), field) != sites().end()) return;
  std::string names;
  for (const std::string_view name : sites()) names += fmt::format(" {}", name);
  refuse(text, fmt::format("no site \"{}\"; there are:{}", field, names));
}

Action carry_out(std::string_view site) {
  switch (plan.action) {
    case Action::throw_error:
      throw Error(ExitCode::failed, fmt::format("injected fault at {}", site),
                  std::source_location::current());
    case Action::kill:
      std::raise(SIGKILL);
      break;
    case Action::stop:
      std::raise(SIGSTOP);
      break;
    case Action::delay:
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      break;
    case Action::none:
    case Action::nan:
    case Action::flip:
      break;
  }
  return plan.action;
}

}  // namespace

const std::vector<std::string_view>& sites() {
#ifdef LOCKSTEP_FAULTS
  static const std::vector<std::string_view> names{"step",
                                                   "collect",
                                                   "checkpoint.begin",
                                                   "checkpoint.chunk",
                                                   "checkpoint.close",
                                                   "checkpoint.sync",
                                                   "checkpoint.verify",
                                                   "checkpoint.rename",
                                                   "checkpoint.directory",
                                                   "checkpoint.pointer",
                                                   "checkpoint.prune",
                                                   "evaluate",
                                                   "record"};
#else
  static const std::vector<std::string_view> names;
#endif
  return names;
}

void configure(int rank) {
  armed = false;
  const char* text = std::getenv("LOCKSTEP_FAULT");
  if (text == nullptr || *text == '\0') return;
  // A test that asks for a fault must not pass because there was none.
  if (sites().empty()) refuse(text, "this build has no fault sites (LOCKSTEP_FAULTS=OFF)");
  const auto [site, at_rank, step, action] = split(text);
  require_site(text, site);
  const std::uint64_t chosen_rank = parse_number(text, at_rank, "rank");
  plan.site = site;
  plan.step = step == "*" ? std::nullopt : std::optional(parse_number(text, step, "step"));
  plan.action = parse_action(text, action);
  armed = chosen_rank == static_cast<std::uint64_t>(rank);
}

Action at(std::string_view site, std::uint64_t step) {
  if (!armed.load(std::memory_order_relaxed)) [[likely]]
    return Action::none;
  if (site != plan.site || (plan.step && *plan.step != step)) return Action::none;
  if (!armed.exchange(false)) return Action::none;  // another thread was here first
  return carry_out(site);
}

}  // namespace lockstep::fault
