#include "startup.hpp"

#include <spdlog/fmt/fmt.h>

#include "lockstep/core/error.hpp"
#include "lockstep/core/log.hpp"
#include "lockstep/core/version.hpp"
#include "lockstep/envs/environment.hpp"

namespace lockstep::app {
namespace {

constexpr double starting_deadline_s = 300;

}  // namespace

LoadedDeck load_deck(comm::Collectives& collectives, const std::string& path,
                     const std::vector<std::string>& overrides) {
  config::DeckText text;
  comm::agreed(collectives, [&] {
    if (collectives.rank() == 0) text = config::read_deck(path);
  });
  text.name = comm::broadcast_text(collectives, text.name, 0);
  text.path = comm::broadcast_text(collectives, text.path, 0);
  text.bytes = comm::broadcast_text(collectives, std::move(text.bytes), 0);

  LoadedDeck loaded{.deck = {}, .name = text.name};
  std::vector<std::string> notes;
  comm::agreed(collectives, [&] {
    loaded.deck = config::parse_deck(text, overrides, &notes);
    config::check_deck(loaded.deck, collectives.size());
    envs::environment_spec(loaded.deck.environment.name);
  });
  for (const std::string& note : notes) log::info(note);
  return loaded;
}

std::unique_ptr<comm::Collectives> starting_collectives() {
  return comm::make_collectives(comm::Communicator::world(), "mpi", starting_deadline_s);
}

std::unique_ptr<comm::Collectives> make_collectives(Runtime& runtime, const config::RuntimeSection& section) {
  runtime.set_threads(static_cast<int>(section.threads));
  auto collectives =
      comm::make_collectives(comm::Communicator::world(), section.collectives, section.deadline_s);
  log::info(fmt::format("lockstep {}: {} rank{}, collectives {}, {}", version(), collectives->size(),
                        collectives->size() == 1 ? "" : "s", collectives->backend(), runtime.arithmetic()));
  return collectives;
}

}  // namespace lockstep::app
