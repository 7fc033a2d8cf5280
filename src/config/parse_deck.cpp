#include "algorithm_keys.hpp"
#include "deck_reader.hpp"
#include "lockstep/config/deck.hpp"
#include "sections.hpp"

namespace lockstep::config {

Deck parse_deck(const DeckText& text, const std::vector<std::string>& overrides,
                std::vector<std::string>* notes) {
  std::vector<std::string> malformed;
  DeckReader reader(text.bytes, text.path, parse_overrides(overrides, notes, malformed),
                    algorithms_of_keys());
  Deck deck;
  deck.visit(reader);
  reader.require_one_of("run.rounds", "run.environment_steps");
  reader.finish(malformed);
  return deck;
}

}  // namespace lockstep::config
