#include "algorithm_keys.hpp"

#include <type_traits>

#include "lockstep/config/deck.hpp"
#include "sections.hpp"

namespace lockstep::config {
namespace {

// Notes the keys of a deck of one algorithm.
class KeyNoter {
 public:
  KeyNoter(std::string algorithm, std::map<std::string, std::vector<std::string>>& algorithms)
      : algorithm_(std::move(algorithm)), algorithms_(algorithms) {}

  template <class Section>
  void section(std::string_view name, std::string_view, Section& section) {
    section_ = name;
    section.visit(*this);
  }
  template <class Value, class Legal>
  void field(std::string_view name, Value&, const Legal&, std::string_view, Presence = Presence::optional) {
    algorithms_[section_ + "." + std::string(name)].push_back(algorithm_);
  }

 private:
  std::string algorithm_, section_;
  std::map<std::string, std::vector<std::string>>& algorithms_;
};

}  // namespace

std::map<std::string, std::vector<std::string>> algorithms_of_keys() {
  std::map<std::string, std::vector<std::string>> algorithms;
  for (const std::string_view name : algorithm_choices) {
    Deck deck;
    deck.algorithm.name = name;
    KeyNoter noter(std::string(name), algorithms);
    deck.visit(noter);
  }
  return algorithms;
}

}  // namespace lockstep::config
