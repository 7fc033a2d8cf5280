// The algorithms of this build: name, constructors, and the parameters they train (for estimates).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "lockstep/algorithms/algorithm.hpp"

namespace lockstep::algorithms {

struct Registration {
  std::string_view name;
  std::string_view network;
  std::unique_ptr<Algorithm> (*make)(const config::Deck&, comm::Collectives&);
  std::unique_ptr<Policy> (*make_policy)(const config::Deck&);
  std::vector<learner::ParameterSpec> (*parameters)(const config::Deck&);  // what is trained
};

const std::vector<Registration>& registrations();

// Of each algorithm; its file defines them.
std::unique_ptr<Algorithm> make_ppo(const config::Deck& deck, comm::Collectives& collectives);
std::unique_ptr<Policy> make_ppo_policy(const config::Deck& deck);
std::vector<learner::ParameterSpec> ppo_parameters(const config::Deck& deck);

}  // namespace lockstep::algorithms
