#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "lockstep/config/deck.hpp"
#include "lockstep/config/fitting.hpp"
#include "lockstep/core/reduction_tree.hpp"
#include "sections.hpp"

namespace lockstep::config {
namespace {

using Count = std::int64_t;
using Counts = std::vector<Count>;

bool splits(Count total, Count parts) {
  return tree_splits(static_cast<std::size_t>(total), static_cast<std::size_t>(parts));
}

// Whether every sum over ranks is a subtree. Sharded parameters deal a group's shards out in turn: there a
// turn has to be one, elsewhere what a rank owns.
bool reduces_exactly(const LearnerSection& learner, Count ranks) {
  if (!splits(learner.shards, learner.replicas)) return false;
  if (learner.sharding == "parameters")
    return splits(learner.shards / learner.replicas, learner.shards / ranks);
  return splits(learner.shards, ranks);
}

Counts rank_counts(const LearnerSection& learner) {
  Counts counts = divisors(learner.shards);
  std::erase_if(counts, [&](Count ranks) {
    return ranks % learner.replicas != 0 ||
           (learner.reduction == "exact" && !reduces_exactly(learner, ranks));
  });
  return counts;
}

class DeckChecker {
 public:
  DeckChecker(const Deck& deck, Count ranks, Count steps_a_round)
      : deck_(deck), ranks_(ranks), steps_a_round_(steps_a_round) {}

  std::vector<std::string> problems() {
    check_ranks();
    check_environments();
    check_optimizer();
    check_length();
    return std::move(problems_);
  }

 private:
  template <class... Values>
  void problem(fmt::format_string<Values...> text, Values&&... values) {
    problems_.push_back(fmt::format(text, std::forward<Values>(values)...));
  }

  void check_ranks() {
    const LearnerSection& learner = deck_.learner;
    if (ranks_ < 1) return problem("ranks = {}: a run has at least one rank", ranks_);
    const Counts legal = rank_counts(learner);
    if (std::binary_search(legal.begin(), legal.end(), ranks_)) return;
    if (legal.empty() || ranks_ % learner.replicas != 0)
      return problem(
          "learner.replicas = {} with learner.shards = {} on {} ranks: replicas divide the ranks, and with "
          "exact "
          "reduction shards / replicas is a power of two; rank counts that fit: {}",
          learner.replicas, learner.shards, ranks_,
          legal.empty() ? "none" : fmt::format("{}", fmt::join(legal, ", ")));
    if (learner.shards % ranks_ != 0) {
      return problem(
          "learner.shards = {} on {} ranks: shards must be a multiple of the ranks; nearest rank counts that "
          "fit: {}; "
          "nearest shards for {} ranks: {}",
          learner.shards, ranks_, nearest_of(legal, ranks_), ranks_,
          nearest_multiples(ranks_, learner.shards));
    }
    problem(
        "learner.shards = {} on {} ranks: with learner.reduction = \"exact\" shards / ranks must be a power "
        "of two, or "
        "the ranks 1; it is {}. Rank counts that fit: {}. learner.reduction = \"fast\" takes any divisor of "
        "the "
        "shards, with bits that depend on the ranks",
        learner.shards, ranks_, learner.shards / ranks_, fmt::join(legal, ", "));
  }

  void check_environments() {
    const Count count = deck_.environment.count, shards = deck_.learner.shards;
    if (count % shards == 0) return;
    problem("environment.count = {} is no multiple of learner.shards = {}; nearest counts that fit: {}",
            count, shards, nearest_multiples(shards, count));
  }

  // A key that the chosen optimizer does not read would be ignored without a word.
  void check_optimizer() {
    const OptimizerSection& optimizer = deck_.optimizer;
    if (optimizer.name == "sgd" || optimizer.momentum == 0) return;
    problem("optimizer.momentum = {} belongs to optimizer.name = \"sgd\"; \"{}\" has beta1 instead",
            value_text(optimizer.momentum), optimizer.name);
  }

  void check_length() {
    const Count most = max_counter / steps_a_round_;
    if (!deck_.run.rounds || *deck_.run.rounds <= most) return;
    problem("run.rounds = {} of {} environment steps each are more than 2^53 steps; at most {} rounds fit",
            *deck_.run.rounds, steps_a_round_, most);
  }

  const Deck& deck_;
  Count ranks_, steps_a_round_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> deck_problems(const Deck& deck, std::int64_t ranks, std::int64_t steps_a_round) {
  return DeckChecker(deck, ranks, steps_a_round).problems();
}

PlannedRounds planned_rounds(const Deck& deck, std::int64_t steps_a_round) {
  if (deck.run.rounds) return {*deck.run.rounds, *deck.run.rounds * steps_a_round, false};
  const Count asked = deck.run.environment_steps.value_or(0);
  const Count rounds = asked / steps_a_round + (asked % steps_a_round != 0);
  return {rounds, rounds * steps_a_round, asked % steps_a_round != 0};
}

}  // namespace lockstep::config
