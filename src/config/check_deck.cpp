#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "lockstep/config/deck.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/reduction_tree.hpp"
#include "sections.hpp"

namespace lockstep::config {
namespace {

using Count = std::int64_t;
using Counts = std::vector<Count>;

Count rows_a_round(const Deck& deck) {
  return deck.environment.count * deck.algorithm.ppo.rollout_steps;
}

Counts divisors(Count n) {
  Counts low, high;
  for (Count d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    low.push_back(d);
    if (d * d != n) high.push_back(n / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

// Of ascending `legal`, the last at or below `value` and the first above it: "32 or 64".
std::string nearest(const Counts& legal, Count value) {
  const auto above = std::upper_bound(legal.begin(), legal.end(), value);
  Counts two;
  if (above != legal.begin()) two.push_back(*(above - 1));
  if (above != legal.end()) two.push_back(*above);
  return fmt::format("{}", fmt::join(two, " or "));
}

// The multiples of `unit` around `value`, from `unit` on.
std::string nearest_multiples(Count unit, Count value) {
  const Count below = value / unit * unit;
  return below == 0 ? fmt::format("{}", unit) : fmt::format("{} or {}", below, below + unit);
}

Counts rank_counts(const LearnerSection& learner) {
  Counts counts = divisors(learner.shards);
  if (learner.reduction == "exact") {
    std::erase_if(counts, [&](Count ranks) {
      return !tree_splits(static_cast<std::size_t>(learner.shards), static_cast<std::size_t>(ranks));
    });
  }
  return counts;
}

class DeckChecker {
 public:
  DeckChecker(const Deck& deck, Count ranks) : deck_(deck), ranks_(ranks) {}

  void check() {
    check_ranks();
    check_environments();
    check_minibatches();
    check_optimizer();
    check_length();
    if (!problems_.empty()) throw InputError(fmt::format("{}", fmt::join(problems_, "\n")));
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
    if (learner.shards % ranks_ != 0) {
      return problem(
          "learner.shards = {} on {} ranks: shards must be a multiple of the ranks; nearest rank counts that "
          "fit: {}; "
          "nearest shards for {} ranks: {}",
          learner.shards, ranks_, nearest(legal, ranks_), ranks_, nearest_multiples(ranks_, learner.shards));
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

  void check_minibatches() {
    const PpoSection& ppo = deck_.algorithm.ppo;
    const LearnerSection& learner = deck_.learner;
    const Count rows = rows_a_round(deck_), size = ppo.minibatch_size;
    const Count leaves = learner.shards * learner.accumulation;
    if (rows % size != 0) {
      problem(
          "environment.count * algorithm.rollout_steps = {} * {} = {} is no multiple of "
          "algorithm.minibatch_size = {}; "
          "nearest sizes that fit: {}",
          deck_.environment.count, ppo.rollout_steps, rows, size, nearest_minibatches(rows, leaves, size));
    }
    if (size % leaves != 0) {
      problem(
          "algorithm.minibatch_size = {} is no multiple of learner.shards * learner.accumulation = {} * {} = "
          "{}; "
          "nearest sizes that fit: {}",
          size, learner.shards, learner.accumulation, leaves, nearest_minibatches(rows, leaves, size));
    }
    if (ppo.normalize_advantage && size < 2) {
      problem(
          "algorithm.minibatch_size = {} with algorithm.normalize_advantage = true: one row has no "
          "deviation; take at "
          "least 2 rows, or normalize_advantage = false",
          size);
    }
  }

  // Sizes that divide the rollout and split into leaves.
  static std::string nearest_minibatches(Count rows, Count leaves, Count size) {
    if (rows % leaves != 0)
      return fmt::format("none, {} rows a round do not split into {} leaves", rows, leaves);
    Counts sizes = divisors(rows);
    std::erase_if(sizes, [&](Count divisor) { return divisor % leaves != 0; });
    return nearest(sizes, size);
  }

  // A key that the chosen optimizer does not read would be ignored without a word.
  void check_optimizer() {
    const OptimizerSection& optimizer = deck_.optimizer;
    if (optimizer.name == "sgd" || optimizer.momentum == 0) return;
    problem("optimizer.momentum = {} belongs to optimizer.name = \"sgd\"; \"{}\" has beta1 instead",
            value_text(optimizer.momentum), optimizer.name);
  }

  void check_length() {
    const Count rows = rows_a_round(deck_), most = max_counter / rows;
    if (!deck_.run.rounds || *deck_.run.rounds <= most) return;
    problem(
        "run.rounds = {} of environment.count * algorithm.rollout_steps = {} steps each are more than 2^53 "
        "steps; "
        "at most {} rounds fit",
        *deck_.run.rounds, rows, most);
  }

  const Deck& deck_;
  Count ranks_;
  std::vector<std::string> problems_;
};

}  // namespace

void check_deck(const Deck& deck, std::int64_t ranks) {
  DeckChecker(deck, ranks).check();
}

PlannedRounds planned_rounds(const Deck& deck) {
  const Count rows = rows_a_round(deck);
  if (deck.run.rounds) return {*deck.run.rounds, *deck.run.rounds * rows, false};
  const Count asked = deck.run.environment_steps.value_or(0);
  const Count rounds = asked / rows + (asked % rows != 0);
  return {rounds, rounds * rows, asked % rows != 0};
}

}  // namespace lockstep::config
