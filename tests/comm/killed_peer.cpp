// Rank 1 kills itself with SIGKILL while rank 0 waits for it: rank 0 must name it.
#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/log.hpp"
#include "lockstep/core/runtime.hpp"

namespace {

// Looks at this process's own mappings, so that other jobs on the machine do not matter: a mapped segment
// whose name is gone reads "(deleted)".
void report_remnants() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/dev/shm/lockstep-") != std::string::npos && !line.ends_with("(deleted)")) {
      std::fprintf(stderr, "left in /dev/shm: %s\n", line.c_str());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace lockstep;
  return run_guarded([&] {
    Runtime runtime(argc, argv, {});
    log::start(runtime.rank(), runtime.size());
    auto collectives = comm::make_collectives(comm::Communicator::world(), "shared_memory", 30);
    const staging::Buffer window = collectives->allocate(1 << 20);
    collectives->barrier().wait();
    if (runtime.rank() == 1) std::raise(SIGKILL);
    report_remnants();
    try {
      collectives->barrier().wait();
    } catch (const CommError& error) {
      std::fprintf(stderr, "%s\n", error.what());
      throw;
    }
    return 0;
  });
}
