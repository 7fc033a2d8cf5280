#include "deck_scan.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "lockstep/core/error.hpp"

namespace lockstep::config {
namespace {

// Walks TOML character by character and knows where it is: line, statement, depth of brackets, dotted parts.
// It judges no syntax; strings and comments are skipped as the parser skips them.
class Scanner {
 public:
  explicit Scanner(std::string_view toml) : toml_(toml) {
    if (toml_.substr(0, 3) == "\xEF\xBB\xBF") toml_.remove_prefix(3);  // byte-order mark
  }

  bool done() const { return at_ >= toml_.size(); }
  bool at_line_end() const { return toml_[at_] == '\n'; }
  std::size_t line() const { return line_; }
  int depth() const { return depth_; }
  int parts() const { return dots_ + 1; }

  void step() {
    const char c = toml_[at_];
    if (c == '#') return skip_comment();
    if (c == '"' || c == '\'') return skip_string(c);
    if (c == '\n') return end_line();
    if (depth_ == 0 && !in_statement_ && c != ' ' && c != '\t' && c != '\r') begin_statement(c);
    if (c == '.') ++dots_;
    if (c == '[' || c == '{') ++depth_;
    if ((c == ']' || c == '}') && depth_ > 0) --depth_;
    if (std::string_view("[]{},=").find(c) != std::string_view::npos) dots_ = 0;
    ++at_;
  }

  // Header and key of the statement being read.
  std::string statement() const {
    std::string header = shortened(first_line(header_, "\n#"));
    if (in_header_ || key_ == none) return header;
    return header + (header.empty() ? "" : " ") + shortened(first_line(key_, "=\n#"));
  }

 private:
  static constexpr std::size_t none = std::string_view::npos;

  void skip_comment() { at_ = std::min(toml_.find('\n', at_), toml_.size()); }

  void skip_string(char quote) {
    if (depth_ == 0 && !in_statement_) begin_statement(quote);
    const bool literal = quote == '\'';
    const std::string_view fence = literal ? "'''" : R"(""")";
    const bool multiline = toml_.substr(at_, 3) == fence;
    at_ += multiline ? 3 : 1;
    while (!done()) {
      if (multiline ? toml_.substr(at_, 3) == fence : toml_[at_] == quote) break;
      if (toml_[at_] == '\n' && !multiline) return;  // not closed: the parser will say so
      if (toml_[at_] == '\\' && !literal && at_ + 1 < toml_.size()) ++at_;
      if (toml_[at_] == '\n') ++line_;
      ++at_;
    }
    at_ = std::min(at_ + (multiline ? 3 : 1), toml_.size());
    for (int extra = 0; multiline && extra < 2 && !done() && toml_[at_] == quote; ++extra)
      ++at_;  // """a"""""
  }

  void begin_statement(char c) {
    in_statement_ = true;
    in_header_ = c == '[';
    key_ = in_header_ ? none : at_;
    if (in_header_) header_ = at_;
  }

  void end_line() {
    if (in_header_) depth_ = 0;  // a header ends with its line, closed or not
    if (depth_ == 0) {
      in_statement_ = in_header_ = false;
      key_ = none;
    }
    dots_ = 0;
    ++line_;
    ++at_;
  }

  std::string_view first_line(std::size_t from, std::string_view ends) const {
    if (from == none) return {};
    std::string_view text =
        toml_.substr(from, std::min(toml_.find_first_of(ends, from), toml_.size()) - from);
    return text.substr(0, text.find_last_not_of(" \t\r") + 1);
  }

  std::string_view toml_;
  std::size_t at_ = 0, line_ = 1;
  std::size_t header_ = none, key_ = none;
  bool in_statement_ = false, in_header_ = false;
  int depth_ = 0, dots_ = 0;
};

}  // namespace

void check_nesting(std::string_view toml, const std::string& place) {
  for (Scanner scanner(toml); !scanner.done();) {
    scanner.step();
    const bool deep = scanner.depth() > max_depth;
    if (!deep && scanner.parts() <= max_dotted_parts) continue;
    throw InputError(fmt::format("{}:{}: {}: {}", place, scanner.line(), scanner.statement(),
                                 deep
                                     ? fmt::format("nested more than {} deep", max_depth)
                                     : fmt::format("a name of more than {} dotted parts", max_dotted_parts)));
  }
}

std::string statement_at(std::string_view toml, std::size_t line) {
  Scanner scanner(toml);
  while (!scanner.done() && scanner.line() <= line && !(scanner.line() == line && scanner.at_line_end())) {
    scanner.step();
  }
  return scanner.statement();
}

std::string shortened(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  std::size_t cut = limit;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return std::string(text.substr(0, cut)) + "...";
}

}  // namespace lockstep::config
