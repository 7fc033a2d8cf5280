#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <list>
#include <type_traits>

#include "lockstep/config/deck.hpp"
#include "lockstep/core/error.hpp"
#include "nearest.hpp"
#include "sections.hpp"

namespace lockstep::config {
namespace {

struct Key {
  std::string name, type, preset, range, meaning;
  std::vector<std::string_view> algorithms = {};  // that have it
  bool same_as(const Key& other) const {
    return name == other.name && preset == other.preset && meaning == other.meaning;
  }
};

struct SectionReference {
  std::string name, meaning;
  std::vector<Key> keys;
};

// Gathers the keys of one algorithm after another; a key that several have alike is one line.
class Documenter {
 public:
  void document(std::string_view algorithm) {
    algorithm_ = algorithm;
    section_ = sections_.begin();
    Deck defaults;
    defaults.visit(*this);
  }
  template <class Section>
  void section(std::string_view name, std::string_view meaning, Section& section) {
    const auto found = std::ranges::find(sections_, name, &SectionReference::name);
    const auto here = section_ == sections_.end() ? section_ : std::next(section_);
    section_ = found != sections_.end()
                   ? found
                   : sections_.insert(here, {std::string(name), std::string(meaning), {}});
    section.visit(*this);
  }
  template <class Value, class Legal>
  void field(std::string_view name, Value& value, const Legal& legal, std::string_view meaning,
             Presence presence = Presence::optional) {
    const std::string preset = value_text(value);
    const bool required = presence == Presence::required;
    add({std::string(name), std::string(type_text(value)),
         required         ? "(required)"
         : preset.empty() ? "(not set)"
                          : preset,
         range_text(legal, value), std::string(meaning)});
    // Its default is noted; the keys after it are those of the algorithm that is documented.
    if constexpr (std::is_same_v<Value, std::string>)
      if (section_->name == "algorithm" && name == "name") value = algorithm_;
  }

  // A key that not every algorithm has says which do.
  std::vector<SectionReference> finish() const {
    std::vector<SectionReference> sections(sections_.begin(), sections_.end());
    for (SectionReference& section : sections)
      for (Key& key : section.keys)
        if (key.algorithms.size() < algorithm_choices.size())
          key.meaning += fmt::format(" ({})", fmt::join(key.algorithms, ", "));
    return sections;
  }

 private:
  void add(Key key) {
    const auto same = std::ranges::find_if(section_->keys, [&](const Key& k) { return k.same_as(key); });
    Key& kept = same != section_->keys.end() ? *same : section_->keys.emplace_back(std::move(key));
    kept.algorithms.push_back(algorithm_);
  }

  std::string_view algorithm_;
  std::list<SectionReference> sections_;
  std::list<SectionReference>::iterator section_;  // the one that is visited
};

std::vector<SectionReference> document() {
  Documenter documenter;
  for (const std::string_view algorithm : algorithm_choices) documenter.document(algorithm);
  return documenter.finish();
}

std::vector<SectionReference> document(const std::string& section) {
  std::vector<SectionReference> all = document();
  if (section.empty()) return all;
  std::vector<std::string> names;
  for (const SectionReference& reference : all) {
    if (reference.name == section) return {reference};
    names.push_back(reference.name);
  }
  throw InputError(fmt::format("{}: no section of the deck; the sections are {}{}", section,
                               fmt::join(names, ", "), did_you_mean(section, names)));
}

struct Widths {
  std::size_t name = 0, type = 0, preset = 0, range = 0;
};

Widths widths(const std::vector<SectionReference>& sections) {
  Widths wide;
  for (const SectionReference& section : sections) {
    for (const Key& key : section.keys) {
      wide.name = std::max(wide.name, key.name.size());
      wide.type = std::max(wide.type, key.type.size());
      wide.preset = std::max(wide.preset, key.preset.size());
      wide.range = std::max(wide.range, key.range.size());
    }
  }
  return wide;
}

// In a table of Markdown a bar ends the cell, and <word> is a tag.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '<') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

std::string deck_reference(const std::string& section) {
  const std::vector<SectionReference> sections = document(section);
  const Widths wide = widths(sections);
  std::string text;
  for (const SectionReference& reference : sections) {
    text += fmt::format("{}[{}] {}\n", text.empty() ? "" : "\n", reference.name, reference.meaning);
    for (const Key& key : reference.keys) {
      text += fmt::format("  {:<{}}  {:<{}}  {:<{}}  {:<{}}  {}\n", key.name, wide.name, key.type, wide.type,
                          key.preset, wide.preset, key.range, wide.range, key.meaning);
    }
  }
  return text;
}

std::string deck_reference_markdown() {
  std::string text =
      "# The deck: every section and key\n\n"
      "Generated by `lockstep keys --markdown`; change the keys in `src/config/sections.hpp` and generate it "
      "again.\n\n"
      "A deck is a file of TOML. A section or key that this page does not have is refused, and so is a value "
      "of another\n"
      "type or out of range; an integer is taken for a float. Intervals: `[0, 1)` holds 0 and not 1. On the "
      "command line\n"
      "`--set section.key=value` beats the file; a string key takes the text as it stands, others a TOML "
      "value.\n"
      "Algorithms in parentheses after a meaning are those that have the key; a deck of another may not hold "
      "it.\n";
  for (const SectionReference& section : document()) {
    text +=
        fmt::format("\n## [{}]\n\n{}\n\n| key | type | default | range | meaning |\n|---|---|---|---|---|\n",
                    section.name, section.meaning);
    for (const Key& key : section.keys) {
      text += fmt::format("| `{}` | {} | `{}` | {} | {} |\n", key.name, key.type, key.preset, cell(key.range),
                          cell(key.meaning));
    }
  }
  return text;
}

}  // namespace lockstep::config
