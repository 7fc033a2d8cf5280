// An algorithm: a deck section made into networks, loss, stepper, learner and source. One file an algorithm.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/config/deck.hpp"
#include "lockstep/learner/learner.hpp"
#include "lockstep/rollout/evaluation.hpp"
#include "lockstep/rollout/source.hpp"

namespace lockstep::algorithms {

// Where a run is: schedules depend on this alone.
struct RunPosition {
  std::int64_t round = 0;    // rounds finished
  std::int64_t horizon = 1;  // rounds planned when the run began
  // 1 at the start, falling linearly; stays at its last value when a run is prolonged beyond its horizon.
  double remaining() const noexcept;
};

// The network that acts, without what trains it.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual torch::nn::Module& module() = 0;
  // Collective. Acts greedily for `episodes` episodes; `stop` abandons it (agreed by all ranks).
  virtual rollout::EvaluationResult evaluate(comm::Collectives& collectives, std::int64_t episodes,
                                             std::uint64_t seed, const std::function<bool()>& stop) = 0;
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;
  virtual learner::Learner& learner() = 0;
  virtual rollout::BatchSource& source() = 0;
  // Sets what schedules govern, before a round. Local; the same on every rank.
  virtual void schedule(const RunPosition& position) = 0;
  virtual Policy& policy() = 0;
};

// Collective. InputError when the deck asks for what this build does not know.
std::unique_ptr<Algorithm> make_algorithm(const config::Deck& deck, comm::Collectives& collectives);
// Local. The policy alone, with the network's initial values.
std::unique_ptr<Policy> make_policy(const config::Deck& deck);
std::vector<std::string> algorithm_names();
std::vector<std::string> network_names();

// Every check of a deck for `ranks` ranks: those of all decks, the environment's name, the algorithm's own.
// Local and pure. InputError with all problems, one a line; an unknown environment is told alone.
void check_deck(const config::Deck& deck, std::int64_t ranks);
// For a deck that check_deck accepts.
config::PlannedRounds planned_rounds(const config::Deck& deck);

// What a step costs, for `lockstep check`; a pure function of the deck and the rank count.
struct Estimate {
  std::int64_t parameters = 0;    // trained
  std::int64_t bytes_a_rank = 0;  // parameters, gradients, partial gradients, optimizer state, the two below
  std::int64_t target_bytes = 0;  // target networks, whole on every rank
  std::int64_t replay_bytes = 0;  // a rank's share of the replay buffers, full
  std::int64_t bytes_sent_a_step = 0;  // a rank, reduce-scatter and all-gather
  std::int64_t leaves_a_rank = 0;
  std::int64_t checkpoint_bytes = 0;  // on disk, each
};
Estimate estimate(const config::Deck& deck, std::int64_t ranks);

}  // namespace lockstep::algorithms
