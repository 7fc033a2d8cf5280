#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "lockstep/config/deck.hpp"
#include "sections.hpp"

namespace lockstep::config {
namespace {

class TomlPrinter {
 public:
  template <class Section>
  void section(std::string_view name, std::string_view, Section& section) {
    text_ += fmt::format("{}[{}]\n", text_.empty() ? "" : "\n", name);
    section.visit(*this);
  }
  template <class Value, class Legal>
  void field(std::string_view name, Value& value, const Legal&, std::string_view,
             Presence = Presence::optional) {
    const std::string text = value_text(value);
    if (!text.empty()) text_ += fmt::format("{} = {}\n", name, text);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

const std::string not_set = "not set";

// Every key of a deck with its value as text, in deck order.
class KeyLister {
 public:
  struct Entry {
    std::string key, value;
  };
  template <class Section>
  void section(std::string_view name, std::string_view, Section& section) {
    section_ = name;
    section.visit(*this);
  }
  template <class Value, class Legal>
  void field(std::string_view name, Value& value, const Legal&, std::string_view,
             Presence = Presence::optional) {
    const std::string text = value_text(value);
    entries_.push_back({section_ + "." + std::string(name), text.empty() ? not_set : text});
  }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::string section_;
  std::vector<Entry> entries_;
};

std::vector<KeyLister::Entry> list_keys(Deck deck) {
  KeyLister lister;
  deck.visit(lister);
  return lister.entries();
}

// Decks of two algorithms have different keys: they are matched by name.
std::string value_of(const std::vector<KeyLister::Entry>& entries, const std::string& key) {
  const auto found = std::ranges::find(entries, key, &KeyLister::Entry::key);
  return found == entries.end() ? not_set : found->value;
}

}  // namespace

std::string effective_deck(const Deck& deck) {
  Deck printed = deck;  // a visit may write
  TomlPrinter printer;
  printed.visit(printer);
  return printer.text();
}

std::vector<Difference> compare_decks(const Deck& from, const Deck& to) {
  const std::vector<KeyLister::Entry> before = list_keys(from), after = list_keys(to);
  std::vector<Difference> differences;
  for (const auto& [key, value] : before) {
    const std::string now = value_of(after, key);
    if (value != now) differences.push_back({key, value, now});
  }
  for (const auto& [key, value] : after) {
    const bool compared = std::ranges::find(before, key, &KeyLister::Entry::key) != before.end();
    if (!compared && value != not_set) differences.push_back({key, not_set, value});
  }
  return differences;
}

}  // namespace lockstep::config
