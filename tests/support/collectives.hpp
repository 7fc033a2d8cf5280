// The collectives of all ranks, of every backend, for tests.
//
//   class MyTest : public testing::TestWithParam<std::string> {};   // INSTANTIATE with
//   test::collective_backends() auto collectives = lockstep::test::world_collectives(GetParam());
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/comm/collectives.hpp"

namespace lockstep::test {

inline std::vector<std::string> collective_backends() {
  return {"mpi", "shared_memory"};
}

// Collective. A new Collectives over all ranks; destroy it on all ranks together.
inline std::unique_ptr<comm::Collectives> world_collectives(const std::string& backend = "auto",
                                                            double deadline_s = 60) {
  return comm::make_collectives(comm::Communicator::world(), backend, deadline_s);
}

}  // namespace lockstep::test
