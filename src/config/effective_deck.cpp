#include <spdlog/fmt/fmt.h>

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
    entries_.push_back({section_ + "." + std::string(name), text.empty() ? "not set" : text});
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
  // One algorithm, so both decks list the same keys.
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].value != after[i].value) {
      differences.push_back({before[i].key, before[i].value, after[i].value});
    }
  }
  return differences;
}

}  // namespace lockstep::config
