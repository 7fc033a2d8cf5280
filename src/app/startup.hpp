// What a command needs before it can work: the deck on every rank, the collectives it asks for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/config/deck.hpp"
#include "lockstep/core/runtime.hpp"

namespace lockstep::app {

struct LoadedDeck {
  config::Deck deck;
  std::string name;  // file name without .toml
};

// Collective. Rank 0 reads, every rank parses the same bytes and checks the deck for this many ranks; errors
// are thrown by all ranks together.
LoadedDeck load_deck(comm::Collectives& collectives, const std::string& path,
                     const std::vector<std::string>& overrides);

// Collective. A few collectives over MPI to agree on the deck, before the deck says which backend to use.
std::unique_ptr<comm::Collectives> starting_collectives();
// Collective. What [runtime] asks for; prints the choice. Sets the runtime's threads too.
std::unique_ptr<comm::Collectives> make_collectives(Runtime& runtime, const config::RuntimeSection& section);

}  // namespace lockstep::app
