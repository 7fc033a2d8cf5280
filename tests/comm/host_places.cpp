// The backends on host memory.
#include "host_memory.hpp"
#include "support/collectives.hpp"

namespace lockstep::test {

std::vector<Place> places() {
  std::vector<Place> all;
  for (const std::string& backend : collective_backends()) {
    all.push_back({backend, "own"});
    all.push_back({backend, "allocated"});
  }
  return all;
}

std::unique_ptr<comm::Collectives> collectives_for(const Place& place, double deadline_s) {
  return world_collectives(place.backend, deadline_s);
}

void expect_rules_kept() {}

std::unique_ptr<Memory> make_memory(const Place& place, comm::Collectives& collectives, std::size_t bytes) {
  return make_host_memory(place, collectives, bytes);
}

}  // namespace lockstep::test
