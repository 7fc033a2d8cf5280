// The visitor vocabulary of the deck. A section's `visit` names each key once, with what it may hold and what
// it means:
//
//   v.field("shards", shards, IntegerRange{1, 1 << 20}, "Logical shards of the global batch.");
//
// Any class with the two member templates below is a visitor; reading, printing and documenting a deck are
// one each.
//
//   template <class Section> void section(std::string_view name, std::string_view meaning, Section& section);
//   template <class Value, class Legal>
//   void field(std::string_view name, Value& value, const Legal& legal, std::string_view meaning,
//              Presence presence = Presence::optional);
//
// Value is one of std::int64_t, std::optional<std::int64_t>, double, bool, std::string,
// std::vector<std::int64_t>; Legal is the one of the types below that goes with it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::config {

enum class Presence : std::uint8_t { optional, required };

// Integers low..high, both included. For a list: of each of its elements, and the list is not empty.
struct IntegerRange {
  std::int64_t low = 0;
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
  bool power_of_two = false;
};

// Finite numbers between low and high; an open end is not included. An infinite high is no bound.
struct FloatRange {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;
};

struct Choices {
  std::vector<std::string_view> names;
};

// Text without NUL, at most `max_text_bytes` of UTF-8.
struct AnyText {
  bool may_be_empty = true;
};

struct AnySwitch {};

inline constexpr std::size_t max_text_bytes = 4096;
inline constexpr std::size_t max_list_length = 1024;

// Whether the key may hold the value.
bool allows(const IntegerRange& legal, std::int64_t value) noexcept;
bool allows(const IntegerRange& legal, const std::optional<std::int64_t>& value) noexcept;
bool allows(const IntegerRange& legal, const std::vector<std::int64_t>& value) noexcept;
bool allows(const FloatRange& legal, double value) noexcept;
bool allows(const Choices& legal, const std::string& value) noexcept;
bool allows(const AnyText& legal, const std::string& value) noexcept;
bool allows(const AnySwitch& legal, bool value) noexcept;

// The legal values in words, as `lockstep keys` and messages show them: "1..1024", "[0, 1)", "\"none\" |
// \"optimizer\"".
std::string range_text(const IntegerRange& legal);
std::string range_text(const FloatRange& legal);
std::string range_text(const Choices& legal);
std::string range_text(const AnyText& legal);
std::string range_text(const AnySwitch& legal);
// The same for a key of the given value's type: of a list, also how long it may be.
std::string range_text(const IntegerRange& legal, const std::vector<std::int64_t>&);
template <class Legal, class Value>
std::string range_text(const Legal& legal, const Value&) {
  return range_text(legal);
}

// A value's type in words, for one value and for the reference: "integer", "list of integers".
std::string_view type_text(const std::int64_t&) noexcept;
std::string_view type_text(const std::optional<std::int64_t>&) noexcept;
std::string_view type_text(const std::vector<std::int64_t>&) noexcept;
std::string_view type_text(const double&) noexcept;
std::string_view type_text(const bool&) noexcept;
std::string_view type_text(const std::string&) noexcept;

// A value as TOML that reads back to the same bits. An unset optional is empty text.
std::string value_text(std::int64_t value);
std::string value_text(const std::optional<std::int64_t>& value);
std::string value_text(const std::vector<std::int64_t>& value);
std::string value_text(double value);  // finite; always a TOML float: "1.0"
std::string value_text(bool value);
std::string value_text(const std::string& value);  // valid UTF-8, quoted and escaped

}  // namespace lockstep::config
