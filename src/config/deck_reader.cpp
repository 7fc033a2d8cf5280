#include "deck_reader.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "deck_scan.hpp"
#include "lockstep/core/error.hpp"
#include "nearest.hpp"

namespace lockstep::config {
namespace {

constexpr std::size_t max_problems = 20;
constexpr std::string_view beyond_numbers = "is beyond the numbers of 64 bits";

// What the parser says. It has read all of a float's digits when it finds that none of 64 bits is so large.
std::string description_of(const toml::parse_error& error) {
  std::string text(error.description());
  constexpr std::string_view odd = "could not be interpreted as a value";
  if (text.starts_with("Error while parsing floating-point") && text.ends_with(odd))
    text.replace(text.size() - odd.size(), odd.size(), beyond_numbers);
  return text;
}

// Whether a text is a number that 64 bits do not hold.
bool beyond_64_bits(std::string_view text) {
  const auto holds = [&](auto number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error != std::errc::result_out_of_range || end != text.data() + text.size();
  };
  return !holds(double{}) || !holds(std::int64_t{});
}

toml::table parse_toml(std::string_view toml, const std::string& place) {
  check_nesting(toml, place);
  try {
    return toml::parse(toml, std::string_view(place));
  } catch (const toml::parse_error& error) {
    const std::size_t line = error.source().begin.line;
    const std::string statement = statement_at(toml, line);
    throw InputError(fmt::format("{}:{}: {}{}{}", place, line, statement, statement.empty() ? "" : ": ",
                                 shortened(description_of(error), 200)));
  }
}

std::string_view kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a float";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::date:
      return "a date";
    case toml::node_type::time:
      return "a time";
    case toml::node_type::date_time:
      return "a date and time";
    default:
      return "nothing";
  }
}

// A value on one line, as TOML has it.
std::string one_line(const toml::node& node) {
  if (const auto* text = node.as_string()) return value_text(text->get());
  const auto* number = node.as_floating_point();
  if (number && std::isfinite(number->get())) return value_text(number->get());
  if (const auto* list = node.as_array()) {
    std::string elements;
    for (const toml::node& element : *list) elements += (elements.empty() ? "" : ", ") + one_line(element);
    return "[" + elements + "]";
  }
  std::ostringstream stream;
  node.visit([&](const auto& value) { stream << value; });
  std::string text = stream.str();
  std::replace(text.begin(), text.end(), '\n', ' ');
  const auto both_spaces = [](char a, char b) { return a == ' ' && b == ' '; };
  text.erase(std::unique(text.begin(), text.end(), both_spaces), text.end());
  return text;
}

std::string quoted(const toml::node& node) {
  return shortened(one_line(node));
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

bool take(const toml::node& node, std::int64_t& value) {
  const auto* integer = node.as_integer();
  if (integer) value = integer->get();
  return integer != nullptr;
}

bool take(const toml::node& node, std::optional<std::int64_t>& value) {
  return take(node, value.emplace());
}

bool take(const toml::node& node, std::vector<std::int64_t>& value) {
  const auto* array = node.as_array();
  if (!array) return false;
  for (const toml::node& element : *array) {
    if (!take(element, value.emplace_back())) return false;
  }
  return true;
}

bool take(const toml::node& node, double& value) {
  if (const auto* integer = node.as_integer()) {
    value = static_cast<double>(integer->get());
    return true;
  }
  const auto* number = node.as_floating_point();
  if (number) value = number->get() == 0 ? 0 : number->get();  // -0.0 is 0: it would print as another deck
  return number != nullptr;
}

bool take(const toml::node& node, bool& value) {
  const auto* boolean = node.as_boolean();
  if (boolean) value = boolean->get();
  return boolean != nullptr;
}

bool take(const toml::node& node, std::string& value) {
  const auto* text = node.as_string();
  if (text) value = text->get();
  return text != nullptr;
}

DeckReader::DeckReader(std::string_view toml, std::string path, std::vector<Override> overrides,
                       KeyOwners owners)
    : path_(std::move(path)),
      document_(parse_toml(toml, path_)),
      overrides_(std::move(overrides)),
      owners_(std::move(owners)) {}

void DeckReader::begin_section(std::string_view name) {
  sections_.emplace_back(name);
  const toml::node* node = document_.get(name);
  table_ = node ? node->as_table() : nullptr;
  if (!node || table_) return;
  problems_.push_back({node->source().begin.line,
                       fmt::format("{}{} is {}, it must be one section [{}]",
                                   at_line(node->source().begin.line), name, kind_of(*node), name)});
}

void DeckReader::end_section() {
  if (!table_) return;
  const std::string& section = sections_.back();
  const std::vector<std::string>& known = keys_[section];
  for (const auto& [key, node] : *table_) {
    const std::string name(key.str());
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::size_t line = key.source().begin.line;
    const std::string what = fmt::format("{}{}.{}", at_line(line), section, shortened(name));
    const std::string owners = owners_of(section + "." + name);
    problems_.push_back({line, owners.empty() ? fmt::format("{} is no key of the deck; {}", what,
                                                            known_instead(section, name))
                                              : fmt::format("{} belongs to {}", what, owners)});
  }
}

// Of a key that the deck's algorithm does not have but others do: which, and the mend. "" otherwise.
std::string DeckReader::owners_of(const std::string& key) const {
  const auto found = owners_.find(key);
  if (found == owners_.end()) return "";
  std::string names;
  for (const std::string& name : found->second)
    names += fmt::format("{}algorithm.name = \"{}\"", names.empty() ? "" : " or ", name);
  return names + "; remove it, or change the algorithm";
}

DeckReader::Given DeckReader::find(std::string_view name, bool is_text) {
  const std::string key = sections_.back() + "." + std::string(name);
  keys_[sections_.back()].emplace_back(name);
  Given given = find_override(key, is_text);
  if (given.place.empty() && table_) {
    given.node = table_->get(name);
    if (given.node) {
      given.line = given.node->source().begin.line;
      given.place = fmt::format("{}{} = {}", at_line(given.line), key, quoted(*given.node));
    }
  }
  if (!given.place.empty()) given_[key] = given.place;
  return given;
}

DeckReader::Given DeckReader::find_override(const std::string& key, bool is_text) {
  const auto given =
      std::find_if(overrides_.begin(), overrides_.end(), [&](const Override& o) { return o.key == key; });
  if (given == overrides_.end()) return {};
  given->used = true;
  try {
    override_ = parse_toml("value = " + (is_text ? value_text(given->value) : given->value), given->place);
  } catch (const InputError&) {
    return {.place = given->place, .beyond_64_bits = beyond_64_bits(given->value)};
  }
  // More than the one value: a line break in the argument.
  return {given->place, override_.size() == 1 ? override_.get("value") : nullptr};
}

void DeckReader::refuse(const Given& given, const std::string& what, const std::string& legal) {
  const std::string_view after = given.line == after_all_lines ? ":" : "";
  problems_.push_back({given.line, fmt::format("{}{} {}; {}", given.place, after, what, legal)});
}

void DeckReader::refuse_missing(std::string_view name, const std::string& legal) {
  problems_.push_back(
      {after_all_lines, fmt::format("{}: {}.{} is missing; {}", path_, sections_.back(), name, legal)});
}

void DeckReader::require_one_of(const std::string& first, const std::string& second) {
  const bool has_first = given_.contains(first), has_second = given_.contains(second);
  if (has_first != has_second) return;
  problems_.push_back({after_all_lines,
                       has_first
                           ? fmt::format("{} and {}: both are given, give one", given_[first], given_[second])
                           : fmt::format("{}: {} or {} is missing; give one", path_, first, second)});
}

void DeckReader::refuse_unknown_sections() {
  for (const auto& [key, node] : document_) {
    const std::string name(key.str());
    if (std::find(sections_.begin(), sections_.end(), name) != sections_.end()) continue;
    const std::size_t line = key.source().begin.line;
    if (refuse_section_of_others(name, line)) continue;
    problems_.push_back(
        {line, fmt::format("{}{} is no section of the deck; {}", at_line(line), shortened(name),
                           known_instead(name, node.is_table() ? "" : name))});
  }
}

bool DeckReader::refuse_section_of_others(const std::string& name, std::size_t line) {
  const auto key = owners_.lower_bound(name + ".");
  if (key == owners_.end() || !key->first.starts_with(name + ".")) return false;
  problems_.push_back(
      {line, fmt::format("{}[{}] belongs to {}", at_line(line), name, owners_of(key->first))});
  return true;
}

void DeckReader::refuse_unknown_overrides() {
  for (const Override& given : overrides_) {
    if (given.used) continue;
    const std::size_t dot = given.key.find('.');
    const std::string section = given.key.substr(0, dot);
    const std::string key = dot == std::string::npos ? section : given.key.substr(dot + 1);
    const std::string owners = owners_of(given.key);
    problems_.push_back({after_all_lines, owners.empty()
                                              ? fmt::format("{}: {} is no key of the deck; {}", given.place,
                                                            shortened(given.key), known_instead(section, key))
                                              : fmt::format("{}: belongs to {}", given.place, owners)});
  }
}

// The legal names, and the nearest one: the same key in another section, or a name spelt nearly so.
std::string DeckReader::known_instead(const std::string& section, const std::string& key) const {
  const auto known = keys_.find(section);
  const std::string legal = known == keys_.end()
                                ? fmt::format("the sections are {}", joined(sections_))
                                : fmt::format("the keys of [{}] are {}", section, joined(known->second));
  const std::vector<std::string> elsewhere = keys_called(key);
  if (!elsewhere.empty()) return fmt::format("{}; did you mean {}?", legal, fmt::join(elsewhere, " or "));
  if (known != keys_.end()) return legal + did_you_mean(key, known->second);
  return legal + did_you_mean(section, sections_);
}

std::vector<std::string> DeckReader::keys_called(std::string_view name) const {
  std::vector<std::string> found;
  for (const std::string& section : sections_) {
    const std::vector<std::string>& names = keys_.at(section);
    if (std::find(names.begin(), names.end(), name) != names.end())
      found.push_back(section + "." + std::string(name));
  }
  return found;
}

void DeckReader::finish(const std::vector<std::string>& others) {
  refuse_unknown_sections();
  refuse_unknown_overrides();
  for (const std::string& text : others) problems_.push_back({after_all_lines, text});
  if (problems_.empty()) return;
  std::stable_sort(problems_.begin(), problems_.end(),
                   [](const Problem& a, const Problem& b) { return a.line < b.line; });
  std::string message;
  const std::size_t shown = std::min(problems_.size(), max_problems);
  for (std::size_t i = 0; i < shown; ++i) message += (i ? "\n" : "") + problems_[i].text;
  if (shown < problems_.size()) message += fmt::format("\nand {} more", problems_.size() - shown);
  throw InputError(message);
}

std::string DeckReader::at_line(std::size_t line) const {
  return fmt::format("{}:{}: ", path_, line);
}

std::string DeckReader::takes_text(std::string_view type, const std::string& range) {
  return fmt::format("it takes {} {}, {}", type.starts_with('i') ? "an" : "a", type, range);
}

std::string DeckReader::wrong_type(const Given& given, bool takes_list) {
  if (!given.node) return given.beyond_64_bits ? std::string(beyond_numbers) : "is no TOML value in UTF-8";
  const toml::array* list = takes_list ? given.node->as_array() : nullptr;
  if (!list) return fmt::format("is {}", kind_of(*given.node));
  // Not the list is of the wrong type, an element is.
  const auto wrong = std::find_if(list->begin(), list->end(), [](const auto& e) { return !e.is_integer(); });
  return fmt::format("has {} as element {}", kind_of(*wrong), wrong - list->begin() + 1);
}

std::string DeckReader::out_of_range(const std::vector<std::int64_t>& list, const IntegerRange& legal) {
  const auto wrong =
      std::find_if(list.begin(), list.end(), [&](std::int64_t e) { return !allows(legal, e); });
  if (list.empty() || wrong == list.end()) return fmt::format("has {} elements", list.size());
  return fmt::format("has {} as element {}", *wrong, wrong - list.begin() + 1);
}

std::string DeckReader::suggestion(const std::string& value, const Choices& legal) {
  return did_you_mean(value, {legal.names.begin(), legal.names.end()});
}

}  // namespace lockstep::config
