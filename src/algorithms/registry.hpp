// The algorithms of this build: what each brings of its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/algorithms/algorithm.hpp"

namespace lockstep::algorithms {

// What a run holds in memory, for estimates.
struct Holdings {
  std::vector<learner::ParameterSpec> trained;
  std::int64_t target_bytes = 0;  // frozen copies, whole on every rank
  std::int64_t replay_bytes = 0;  // all ranks together
};

struct Registration {
  std::string_view name;
  std::string_view network;
  std::unique_ptr<Algorithm> (*make)(const config::Deck&, comm::Collectives&);
  std::unique_ptr<Policy> (*make_policy)(const config::Deck&);
  // Adds a line for each thing that is wrong with the algorithm's own keys.
  void (*check)(const config::Deck&, std::vector<std::string>& problems);
  std::int64_t (*steps_a_round)(const config::Deck&);  // of all environments together
  Holdings (*holdings)(const config::Deck&);
};

const std::vector<Registration>& registrations();

// Of each algorithm; its file defines it.
Registration ppo();
Registration dqn();
Registration sac();
Registration td3();

}  // namespace lockstep::algorithms
