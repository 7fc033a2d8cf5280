// Where the values of a test lie. Every program with the typed suite is linked with the backends and the
// kinds of memory it is for.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/comm/collectives.hpp"

namespace lockstep::test {

struct Place {
  std::string backend;
  std::string memory;  // "own": this process's, "allocated": by Collectives::allocate, "device"
};
std::vector<Place> places();

// Collective. Of all ranks.
std::unique_ptr<comm::Collectives> collectives_for(const Place& place, double deadline_s = 60);
// After a test: fails it where the calls it made broke a rule of NCCL or CUDA that can be seen.
void expect_rules_kept();

class Memory {
 public:
  virtual ~Memory() = default;
  virtual std::byte* data() = 0;
  // As the caller of a collective does it: on the stream where it computes, not waiting for the end. `from`
  // must live until a collective on the memory has ended.
  virtual void write(std::size_t offset, const void* from, std::size_t bytes) = 0;
  virtual void read(void* to, std::size_t offset, std::size_t bytes) = 0;
};
// Collective.
std::unique_ptr<Memory> make_memory(const Place& place, comm::Collectives& collectives, std::size_t bytes);

}  // namespace lockstep::test
