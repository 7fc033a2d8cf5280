#include "registry.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "lockstep/core/error.hpp"
#include "lockstep/envs/environment.hpp"
#include "lockstep/learner/leaf_tree.hpp"

namespace lockstep::algorithms {

const std::vector<Registration>& registrations() {
  static const std::vector<Registration> all{ppo(), dqn(), sac(), td3()};
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

void check_deck(const config::Deck& deck, std::int64_t ranks) {
  envs::environment_spec(deck.environment.name);  // throws on a name that it does not know
  const Registration& algorithm = find(deck.algorithm.name);
  std::vector<std::string> problems = config::deck_problems(deck, ranks, algorithm.steps_a_round(deck));
  algorithm.check(deck, problems);
  if (!problems.empty()) throw InputError(fmt::format("{}", fmt::join(problems, "\n")));
}

config::PlannedRounds planned_rounds(const config::Deck& deck) {
  return config::planned_rounds(deck, find(deck.algorithm.name).steps_a_round(deck));
}

namespace {

struct Traffic {
  std::int64_t held = 0;  // bytes of parameters, gradients and optimizer state on a rank
  std::int64_t sent = 0;  // by a rank in a step
};

std::int64_t partial_sums(std::int64_t total, std::int64_t own) {
  return static_cast<std::int64_t>(
      learner::LeafTree(static_cast<std::size_t>(total), static_cast<std::size_t>(own)).slots());
}

// Of `bytes` of parameters. Docs: docs/design.md, section 4.
Traffic traffic_of(const config::LearnerSection& section, std::int64_t bytes, std::int64_t moments,
                   std::int64_t ranks) {
  const std::int64_t shards = section.shards / ranks, leaves = shards * section.accumulation;
  const std::int64_t group = ranks / section.replicas;
  // Inside a group, and a slice's sum across the groups.
  const std::int64_t share = bytes * (group - 1) / group;
  const std::int64_t across = 2 * bytes / group * (section.replicas - 1) / section.replicas;
  if (section.sharding == "parameters") {
    const std::int64_t slices = (1 + partial_sums(shards, shards) + moments) * bytes / group;
    const std::int64_t partials =
        section.accumulation > 1 ? partial_sums(section.accumulation, section.accumulation) * bytes : 0;
    // Whole weights are lent to the source while it collects. Two gathers a leaf, a reduction a shard.
    return {.held = slices + bytes + partials, .sent = (2 * leaves + shards) * share + across};
  }
  const std::int64_t total = section.reduction == "exact" ? section.shards * section.accumulation : leaves;
  const std::int64_t state = moments * bytes / (section.sharding == "optimizer" ? group : 1);
  // Reduce-scatter of gradients, then all-gather of parameters (or of gradients).
  return {.held = bytes + partial_sums(total, leaves) * bytes + state, .sent = 2 * share + across};
}

}  // namespace

Estimate estimate(const config::Deck& deck, std::int64_t ranks) {
  const Holdings holdings = find(deck.algorithm.name).holdings(deck);
  const std::vector<learner::ParameterSpec>& specs = holdings.trained;
  const auto plan =
      learner::make_plan(specs, static_cast<std::size_t>(ranks), learner::StoreOptions{}.bucket_bytes);
  std::int64_t elements = 0, bytes = 0;
  for (const learner::FlatBuffer& buffer : plan.buffers)
    bytes += static_cast<std::int64_t>(buffer.elements * size_of(buffer.dtype));
  for (const learner::ParameterSpec& spec : specs) elements += static_cast<std::int64_t>(spec.elements());
  const std::int64_t moments = deck.optimizer.name == "sgd" ? (deck.optimizer.momentum > 0 ? 1 : 0) : 2;
  const Traffic traffic = traffic_of(deck.learner, bytes, moments, ranks);
  return {.parameters = elements,
          .bytes_a_rank = traffic.held + holdings.target_bytes + holdings.replay_bytes / ranks,
          .target_bytes = holdings.target_bytes,
          .replay_bytes = holdings.replay_bytes / ranks,
          .bytes_sent_a_step = traffic.sent,
          .leaves_a_rank = deck.learner.shards / ranks * deck.learner.accumulation,
          .checkpoint_bytes = (1 + moments) * bytes + holdings.target_bytes + holdings.replay_bytes};
}

}  // namespace lockstep::algorithms
