// The visitor that reads: values from the file and from --set into a Deck, and notes every problem on the
// way.
#pragma once

#include <toml++/toml.h>

#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/config/deck.hpp"
#include "override.hpp"

namespace lockstep::config {

// Takes a node's value; false when it is of another type. Integers are taken for floats, not the other way.
bool take(const toml::node& node, std::int64_t& value);
bool take(const toml::node& node, std::optional<std::int64_t>& value);
bool take(const toml::node& node, std::vector<std::int64_t>& value);
bool take(const toml::node& node, double& value);
bool take(const toml::node& node, bool& value);
bool take(const toml::node& node, std::string& value);

class DeckReader {
 public:
  using KeyOwners = std::map<std::string, std::vector<std::string>>;

  // Parses `toml`; InputError "path:line: [section] key: ..." where it is no TOML, or too deep. `owners`
  // gives for every key the algorithms that have it, so that a key of another one is told from no key at all.
  DeckReader(std::string_view toml, std::string path, std::vector<Override> overrides, KeyOwners owners);

  template <class Section>
  void section(std::string_view name, std::string_view, Section& section) {
    begin_section(name);
    section.visit(*this);
    end_section();
  }

  template <class Value, class Legal>
  void field(std::string_view name, Value& value, const Legal& legal, std::string_view,
             Presence presence = Presence::optional) {
    const Given given = find(name, std::is_same_v<Value, std::string>);
    const std::string takes = takes_text(type_text(value), range_text(legal, value));
    if (!given.place.empty()) {
      Value taken{};
      constexpr bool takes_list = std::is_same_v<Value, std::vector<std::int64_t>>;
      if (!given.node || !take(*given.node, taken))
        return refuse(given, wrong_type(given, takes_list), takes);
      if (!allows(legal, taken))
        return refuse(given, out_of_range(taken, legal), takes + suggestion(taken, legal));
      value = std::move(taken);
    } else if (presence == Presence::required) {
      refuse_missing(name, takes);
    }
  }

  // After the visit. Notes a problem unless exactly one of the two keys was given.
  void require_one_of(const std::string& first, const std::string& second);
  // Last: notes sections and overrides that no visit has named. InputError with all problems, one a line,
  // those of the file first and by line, `others` last.
  void finish(const std::vector<std::string>& others);

 private:
  static constexpr std::size_t after_all_lines = std::numeric_limits<std::size_t>::max();

  // What was given for a key: by the last --set, else in the file.
  struct Given {
    std::string place;  // "path:line: section.key = value" or "--set section.key=value"; "": nowhere
    const toml::node* node = nullptr;    // null: a --set value that is no TOML
    std::size_t line = after_all_lines;  // after_all_lines: from --set
    bool beyond_64_bits = false;         // the --set value is a number, but none that TOML holds
  };
  struct Problem {
    std::size_t line;  // in the file, or after_all_lines
    std::string text;
  };

  void begin_section(std::string_view name);
  void end_section();
  Given find(std::string_view name, bool is_text);
  Given find_override(const std::string& key, bool is_text);
  void refuse(const Given& given, const std::string& what, const std::string& legal);
  void refuse_missing(std::string_view name, const std::string& legal);
  void refuse_unknown_sections();
  bool refuse_section_of_others(const std::string& name, std::size_t line);
  void refuse_unknown_overrides();
  std::string owners_of(const std::string& key) const;
  std::string known_instead(const std::string& section, const std::string& key) const;
  std::vector<std::string> keys_called(std::string_view name) const;
  std::string at_line(std::size_t line) const;

  static std::string takes_text(std::string_view type, const std::string& range);
  static std::string wrong_type(const Given& given, bool takes_list);
  static std::string out_of_range(const std::vector<std::int64_t>& list, const IntegerRange& legal);
  template <class Value, class Legal>
  static std::string out_of_range(const Value&, const Legal&) {
    return "is not legal";
  }
  static std::string suggestion(const std::string& value, const Choices& legal);
  template <class Value, class Legal>
  static std::string suggestion(const Value&, const Legal&) {
    return "";
  }

  std::string path_;
  toml::table document_;
  std::vector<Override> overrides_;
  KeyOwners owners_;
  toml::table override_;  // the one being read
  std::vector<Problem> problems_;
  std::vector<std::string> sections_;                     // known, in deck order
  std::map<std::string, std::vector<std::string>> keys_;  // known, by section
  std::map<std::string, std::string> given_;              // places of the keys that were given
  const toml::table* table_ = nullptr;  // of the section being visited, where the file has it
};

}  // namespace lockstep::config
