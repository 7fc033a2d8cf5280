// What the ranks tell each other once a step, as one vector of int64 that is summed: exact sums, maxima and
// votes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/core/exact_sum.hpp"

namespace lockstep::learner {

class StepMessage {
 public:
  explicit StepMessage(comm::Collectives& collectives) : collectives_(collectives) {}

  void add(ExactSum& sum) { sums_.push_back(&sum); }
  void add_maximum(double& maximum) { maxima_.push_back(&maximum); }
  // Afterwards holds the number of ranks whose vote was not zero.
  void add_vote(std::int64_t& vote) { votes_.push_back(&vote); }

  // Collective. Every value added is replaced by the merge over all ranks.
  void exchange();

 private:
  comm::Collectives& collectives_;
  std::vector<ExactSum*> sums_;
  std::vector<double*> maxima_;
  std::vector<std::int64_t*> votes_;
};

}  // namespace lockstep::learner
