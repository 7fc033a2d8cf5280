#include "lockstep/config/field.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace lockstep::config {

bool allows(const IntegerRange& legal, std::int64_t value) noexcept {
  if (value < legal.low || value > legal.high) return false;
  return !legal.power_of_two || std::has_single_bit(static_cast<std::uint64_t>(value));
}

bool allows(const IntegerRange& legal, const std::optional<std::int64_t>& value) noexcept {
  return !value || allows(legal, *value);
}

bool allows(const IntegerRange& legal, const std::vector<std::int64_t>& value) noexcept {
  return !value.empty() && value.size() <= max_list_length &&
         std::all_of(value.begin(), value.end(),
                     [&](std::int64_t element) { return allows(legal, element); });
}

bool allows(const FloatRange& legal, double value) noexcept {
  if (!std::isfinite(value)) return false;
  const bool above = legal.low_open ? value > legal.low : value >= legal.low;
  return above && (legal.high_open ? value < legal.high : value <= legal.high);
}

bool allows(const Choices& legal, const std::string& value) noexcept {
  return std::find(legal.names.begin(), legal.names.end(), value) != legal.names.end();
}

bool allows(const AnyText& legal, const std::string& value) noexcept {
  if (value.empty()) return legal.may_be_empty;
  return value.size() <= max_text_bytes && value.find('\0') == std::string::npos;
}

bool allows(const AnySwitch&, bool) noexcept {
  return true;
}

std::string range_text(const IntegerRange& legal) {
  return fmt::format("{}..{}{}", legal.low, legal.high, legal.power_of_two ? ", a power of two" : "");
}

std::string range_text(const FloatRange& legal) {
  if (std::isinf(legal.high)) return fmt::format("{} {}", legal.low_open ? ">" : ">=", legal.low);
  return fmt::format("{}{}, {}{}", legal.low_open ? "(" : "[", legal.low, legal.high,
                     legal.high_open ? ")" : "]");
}

std::string range_text(const Choices& legal) {
  std::string text;
  for (const std::string_view name : legal.names) {
    text += fmt::format("{}\"{}\"", text.empty() ? "" : " | ", name);
  }
  return text;
}

std::string range_text(const AnyText& legal) {
  return fmt::format("{}..{} bytes", legal.may_be_empty ? 0 : 1, max_text_bytes);
}

std::string range_text(const AnySwitch&) {
  return "true | false";
}

std::string range_text(const IntegerRange& legal, const std::vector<std::int64_t>&) {
  return fmt::format("1 to {} elements, each {}", max_list_length, range_text(legal));
}

std::string_view type_text(const std::int64_t&) noexcept {
  return "integer";
}
std::string_view type_text(const std::optional<std::int64_t>&) noexcept {
  return "integer";
}
std::string_view type_text(const std::vector<std::int64_t>&) noexcept {
  return "list of integers";
}
std::string_view type_text(const double&) noexcept {
  return "float";
}
std::string_view type_text(const bool&) noexcept {
  return "boolean";
}
std::string_view type_text(const std::string&) noexcept {
  return "string";
}

std::string value_text(std::int64_t value) {
  return fmt::format("{}", value);
}

std::string value_text(const std::optional<std::int64_t>& value) {
  return value ? value_text(*value) : "";
}

std::string value_text(const std::vector<std::int64_t>& value) {
  return fmt::format("[{}]", fmt::join(value, ", "));
}

std::string value_text(double value) {
  std::string text = fmt::format("{}", value);  // the shortest digits that read back to the same bits
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string value_text(bool value) {
  return value ? "true" : "false";
}

std::string value_text(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '\t') {
      text += "\\t";
    } else if (code < 0x20 || code == 0x7f) {
      text += fmt::format("\\u{:04X}", static_cast<unsigned>(code));
    } else {
      text += c;
    }
  }
  return text + '"';
}

}  // namespace lockstep::config
