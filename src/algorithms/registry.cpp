#include "registry.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "lockstep/core/error.hpp"

namespace lockstep::algorithms {

const std::vector<Registration>& registrations() {
  static const std::vector<Registration> all{
      {.name = "ppo",
       .network = "mlp actor-critic",
       .make = make_ppo,
       .make_policy = make_ppo_policy,
       .parameters = ppo_parameters},
  };
  return all;
}

namespace {

const Registration& find(const std::string& name) {
  for (const Registration& registration : registrations())
    if (registration.name == name) return registration;
  throw InputError(
      fmt::format("unknown algorithm '{}'; known: {}", name, fmt::join(algorithm_names(), ", ")));
}

}  // namespace

double RunPosition::remaining() const noexcept {
  const std::int64_t last = std::max<std::int64_t>(horizon - 1, 0);
  return 1.0 -
         static_cast<double>(std::min(round, last)) / static_cast<double>(std::max<std::int64_t>(horizon, 1));
}

std::unique_ptr<Algorithm> make_algorithm(const config::Deck& deck, comm::Collectives& collectives) {
  return find(deck.algorithm.name).make(deck, collectives);
}

std::unique_ptr<Policy> make_policy(const config::Deck& deck) {
  return find(deck.algorithm.name).make_policy(deck);
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const Registration& registration : registrations()) names.emplace_back(registration.name);
  return names;
}

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const Registration& registration : registrations()) names.emplace_back(registration.network);
  return names;
}

Estimate estimate(const config::Deck& deck, std::int64_t ranks) {
  const auto specs = find(deck.algorithm.name).parameters(deck);
  const auto plan =
      learner::make_plan(specs, static_cast<std::size_t>(ranks), learner::StoreOptions{}.bucket_bytes);
  std::int64_t elements = 0, bytes = 0;
  for (const learner::FlatBuffer& buffer : plan.buffers)
    bytes += static_cast<std::int64_t>(buffer.elements * size_of(buffer.dtype));
  for (const learner::ParameterSpec& spec : specs) elements += static_cast<std::int64_t>(spec.elements());
  const std::int64_t own = deck.learner.shards / ranks * deck.learner.accumulation;
  const bool exact = deck.learner.reduction == "exact";
  const std::int64_t total = exact ? deck.learner.shards * deck.learner.accumulation : own;
  const auto slots = static_cast<std::int64_t>(
      learner::LeafTree(static_cast<std::size_t>(total), static_cast<std::size_t>(own)).slots());
  const std::int64_t moments = deck.optimizer.name == "sgd" ? (deck.optimizer.momentum > 0 ? 1 : 0) : 2;
  const std::int64_t state = moments * bytes / (deck.learner.sharding == "optimizer" ? ranks : 1);
  // Reduce-scatter of gradients, then all-gather of parameters (or of gradients): 2 (n-1)/n of the buffers.
  return {.parameters = elements,
          .bytes_a_rank = bytes + slots * bytes + state,
          .bytes_sent_a_step = 2 * bytes * (ranks - 1) / ranks,
          .leaves_a_rank = own,
          .checkpoint_bytes = (1 + moments) * bytes};
}

}  // namespace lockstep::algorithms
