// The gather plan of the state that was written last, rebuilt when any rank's extents have changed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lockstep/checkpoint/contents.hpp"
#include "lockstep/comm/collectives.hpp"
#include "lockstep/data/gather_plan.hpp"

namespace lockstep::checkpoint {

class PlanCache {
 public:
  explicit PlanCache(std::size_t chunk_bytes) : chunk_bytes_(chunk_bytes) {}

  // Collective: one small exchange while nothing has changed. ContractError on every rank when the ranks
  // disagree on names, dtypes, shapes or the round, or the state cannot be written (state_names.hpp,
  // gather_plan.hpp).
  const GatherPlan& plan_for(comm::Collectives& collectives, const Contents& contents);

 private:
  std::size_t chunk_bytes_;
  std::vector<std::string> layouts_;  // a hash a rank, of what the plan was made from
  GatherPlan plan_;
};

}  // namespace lockstep::checkpoint
