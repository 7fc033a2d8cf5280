// Where batches come from. A source gives rounds: one collection and the batches of every step made from it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/core/exact_sum.hpp"
#include "lockstep/data/batch.hpp"
#include "lockstep/data/state_view.hpp"

namespace lockstep::learner {
struct StepResult;
}

namespace lockstep::rollout {

// What one collection saw, this rank's shards only; merged exactly by the caller.
struct CollectionStatistics {
  std::int64_t environment_steps = 0;  // all shards of all ranks together: known without communication
  ExactSum return_sum;                 // of the episodes that ended
  ExactSum episodes;
  double seconds = 0;

  void count_episodes(const std::vector<double>& returns) {
    for (const double episode_return : returns) {
      return_sum.add(episode_return);
      episodes.add(1);
    }
  }
};

// Steps of one round, in order; `next` gives this rank's batch for each, or false when the round is over.
class Round {
 public:
  virtual ~Round() = default;
  virtual bool next(ShardedBatch& batch) = 0;
  // What came of the step that was made from the last batch; called after every one of them, skipped ones
  // too.
  virtual void feedback(const learner::StepResult&) {}
  virtual std::int64_t steps() const noexcept = 0;  // optimizer steps of the round; may be none
  virtual const CollectionStatistics& statistics() const noexcept = 0;
};

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual std::unique_ptr<Round> collect() = 0;
  // All that the next round depends on; see VectorEnvironment for pack and unpack.
  virtual StateView state() = 0;
  virtual void pack() = 0;
  virtual void unpack() = 0;
};

}  // namespace lockstep::rollout
