// Going on from a checkpoint, or starting from another run's model.
#pragma once

#include <optional>
#include <string>

#include "lockstep/config/deck.hpp"
#include "metrics_file.hpp"
#include "run_directory.hpp"
#include "run_state.hpp"

namespace lockstep::app {

// Collective. The checkpoint that a path names, verified: the file itself, or of a run directory its newest
// valid one. CheckpointError on all ranks when there is none.
std::string find_named_checkpoint(comm::Collectives& collectives, const std::string& path);

// Collective. The checkpoint to go on from, verified, or nullopt for a new run. `choice` is --resume's value:
// "auto", "never" or a path. InputError when it cannot be done: never with checkpoints there, a file that is
// damaged, a file older than what the run directory holds.
std::optional<std::string> find_checkpoint(comm::Collectives& collectives, const RunDirectory& directory,
                                           const std::string& choice);

// For the functions below `path` is a checkpoint that one of the two above gave: it is not verified again.

// Collective. Checks the checkpoint against deck, names, shapes and dtypes on every rank before it touches
// anything, then loads it. Prints what the deck changes as "key: checkpoint -> used", and where `arithmetic`,
// the runtime's, is not the checkpoint's; InputError when a key that fixes the run changed. Returns the place
// in metrics.jsonl.
MetricsFile::Mark resume_run(comm::Collectives& collectives, const std::string& path,
                             const config::Deck& deck, const std::string& arithmetic,
                             algorithms::Algorithm& algorithm, RunState& state);

// Collective. Checks the checkpoint's model against the module, then loads it into the module.
void initialize_model(comm::Collectives& collectives, const std::string& path, torch::nn::Module& module);

// Collective. The deck that a checkpoint was trained with.
config::Deck deck_of_checkpoint(comm::Collectives& collectives, const std::string& path);

}  // namespace lockstep::app
