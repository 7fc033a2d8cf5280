#include "startup.hpp"

#include <spdlog/fmt/fmt.h>

#include <thread>

#include "lockstep/algorithms/algorithm.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/log.hpp"
#include "lockstep/core/version.hpp"
#include "lockstep/data/device_work.hpp"

namespace lockstep::app {
namespace {

constexpr double starting_deadline_s = 300;

// Threads that share cores wait for each other in every product. The launcher may have bound this rank to
// some of the machine's cores. Rank 0 speaks for all: they are started alike.
void warn_of_many_threads(const Runtime& runtime, std::int64_t threads) {
  const unsigned cores = std::thread::hardware_concurrency();  // those this process may run on; 0: unknown
  if (runtime.rank() != 0 || cores == 0 || threads <= cores) return;
  log::warning(
      fmt::format("runtime.threads = {}, but a rank may run on {} core{} here: it will be slow; lower it, "
                  "or let the launcher bind more cores to a rank",
                  threads, cores, cores == 1 ? "" : "s"));
}

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
    algorithms::check_deck(loaded.deck, collectives.size());
  });
  for (const std::string& note : notes) log::info(note);
  return loaded;
}

std::unique_ptr<comm::Collectives> starting_collectives() {
  return comm::make_collectives(comm::Communicator::world(), "mpi", starting_deadline_s);
}

std::unique_ptr<comm::Collectives> make_collectives(Runtime& runtime, const config::RuntimeSection& section) {
  warn_of_many_threads(runtime, section.threads);
  runtime.set_threads(static_cast<int>(section.threads));
  auto collectives = comm::make_collectives(comm::Communicator::world(), section.collectives,
                                            section.deadline_s, device_work());
  log::info(fmt::format("lockstep {}: {} rank{}, collectives {}, {}", version(), collectives->size(),
                        collectives->size() == 1 ? "" : "s", collectives->backend(), runtime.arithmetic()));
  return collectives;
}

}  // namespace lockstep::app
