// What DQN, SAC and TD3 have in common: replay, one learner over the loss's groups, a policy that explores
// while it collects.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/rollout/off_policy.hpp"
#include "network_policy.hpp"
#include "registry.hpp"

namespace lockstep::algorithms {

struct OffPolicyParts {
  std::unique_ptr<NetworkPolicy> policy;  // its module is what is published
  std::shared_ptr<torch::nn::Module> model;
  std::shared_ptr<losses::Loss> loss;
  std::vector<learner::ParameterGroup> groups;
  rollout::Exploration explore;
};

// Collective.
std::unique_ptr<Algorithm> make_off_policy(const config::Deck& deck, comm::Collectives& collectives,
                                           OffPolicyParts parts);

// Everything of one module in a group that uses the deck's optimizer.
learner::ParameterGroup group_of(const std::string& name, torch::nn::Module& module,
                                 const config::Deck& deck);

enum class Actions : std::uint8_t { discrete, continuous };
// Adds a line for each thing that is wrong with [replay], or with the environment's actions.
void check_off_policy(const config::Deck& deck, Actions actions, std::vector<std::string>& problems);
std::int64_t off_policy_steps_a_round(const config::Deck& deck);
Holdings off_policy_holdings(const config::Deck& deck, const OffPolicyParts& parts);

// The registration of an algorithm that is made of parts. `make_parts` gives them from the deck,
// `untrained_policy` the policy alone.
template <OffPolicyParts (*make_parts)(const config::Deck&),
          std::unique_ptr<Policy> (*untrained_policy)(const config::Deck&), Actions actions>
Registration off_policy_registration(std::string_view name, std::string_view network) {
  return {.name = name,
          .network = network,
          .make =
              [](const config::Deck& deck, comm::Collectives& collectives) {
                return make_off_policy(deck, collectives, make_parts(deck));
              },
          .make_policy = untrained_policy,
          .check = [](const config::Deck& deck,
                      std::vector<std::string>& problems) { check_off_policy(deck, actions, problems); },
          .steps_a_round = off_policy_steps_a_round,
          .holdings = [](const config::Deck& deck) { return off_policy_holdings(deck, make_parts(deck)); }};
}

}  // namespace lockstep::algorithms
