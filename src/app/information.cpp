// Commands that need no MPI: keys, list, check.
#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <string>
#include <vector>

#include "commands.hpp"
#include "lockstep/algorithms/algorithm.hpp"
#include "lockstep/comm/collectives.hpp"
#include "lockstep/config/deck.hpp"
#include "lockstep/core/fault.hpp"
#include "lockstep/core/runtime.hpp"
#include "lockstep/envs/environment.hpp"

namespace lockstep::app {
namespace {

void print(const std::string& text) {
  if (Launcher::detect().rank == 0) std::fputs(text.c_str(), stdout);
}

template <class Names>
std::string list_of(const char* title, const Names& names) {
  std::string text = fmt::format("{}:\n", title);
  for (const auto& name : names) text += fmt::format("  {}\n", name);
  return text;
}

std::string estimate_text(const config::Deck& deck, std::int64_t ranks) {
  const algorithms::Estimate cost = algorithms::estimate(deck, ranks);
  constexpr double mib = 1024.0 * 1024.0;
  std::string text = fmt::format(
      "# estimate for {} rank{}: {} parameters\n"
      "# memory a rank  {:10.3f} MiB (parameters, gradients and partial sums, optimizer state, replay, "
      "targets; activations not counted)\n"
      "# sent a step    {:10.3f} MiB a rank\n"
      "# checkpoint     {:10.3f} MiB on disk, each; {} kept\n",
      ranks, ranks == 1 ? "" : "s", cost.parameters, cost.bytes_a_rank / mib, cost.bytes_sent_a_step / mib,
      cost.checkpoint_bytes / mib, deck.checkpoint.keep);
  if (cost.replay_bytes > 0)
    text += fmt::format("# of the memory  {:10.3f} MiB is the full replay buffer, {:.3f} MiB targets\n",
                        cost.replay_bytes / mib, cost.target_bytes / mib);
  if (cost.leaves_a_rank > 1)
    text += fmt::format(
        "# each rank passes {} leaves a step ({} shards x {} accumulation / {} ranks): a tiny network pays "
        "for each pass\n",
        cost.leaves_a_rank, deck.learner.shards, deck.learner.accumulation, ranks);
  return text;
}

}  // namespace

int run_keys(const KeysCommand& command) {
  print(command.markdown ? config::deck_reference_markdown() : config::deck_reference(command.section));
  return 0;
}

int run_list(const ListCommand&) {
  print(list_of("algorithms", algorithms::algorithm_names()) +
        list_of("environments", envs::environment_names()) +
        list_of("networks", algorithms::network_names()) +
        list_of("collectives", comm::collective_backends()) + list_of("fault sites", fault::sites()));
  return 0;
}

int run_check(const CheckCommand& command) {
  std::vector<std::string> notes;
  const config::Deck deck = config::parse_deck(config::read_deck(command.deck), command.overrides, &notes);
  const std::int64_t ranks = command.ranks.value_or(Launcher::detect().size);
  algorithms::check_deck(deck, ranks);
  std::string text = config::effective_deck(deck) + "\n" + estimate_text(deck, ranks);
  for (const std::string& note : notes) text += fmt::format("# {}\n", note);
  print(text);
  return 0;
}

}  // namespace lockstep::app
