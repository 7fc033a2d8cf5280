// Writes round 1, then round 2, in the folder given; LOCKSTEP_FAULT kills it somewhere on the way.
#include "checkpoint/example_state.hpp"
#include "lockstep/checkpoint/checkpoint.hpp"
#include "lockstep/core/fault.hpp"
#include "lockstep/core/log.hpp"
#include "lockstep/core/runtime.hpp"

namespace {

using namespace lockstep;

int write_two(int argc, char** argv) {
  Runtime runtime(argc, argv, {});
  log::start(runtime.rank(), runtime.size());
  fault::configure(runtime.rank());
  {
    auto collectives = comm::make_collectives(comm::Communicator::world(), "mpi", 20);
    checkpoint::Writer writer(*collectives,
                              {.directory = argv[1], .keep = 1, .keep_every = 0, .chunk_bytes = 1024});
    for (std::int64_t round = 1; round <= 2; ++round) {
      checkpoint::ExampleState state(checkpoint::example_tensors(), checkpoint::Spread::cyclic,
                                     runtime.rank(), runtime.size());
      state.fill();
      checkpoint::Contents contents;
      contents.state = state.view();
      contents.round = round;
      writer.write(contents);
    }
  }
  runtime.finish();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return argc == 2 ? run_guarded([&] { return write_two(argc, argv); }) : 2;
}
