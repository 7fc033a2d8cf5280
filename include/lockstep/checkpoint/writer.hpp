// Writes checkpoints: all ranks give what they hold, rank 0 streams it to one file and publishes that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lockstep/checkpoint/contents.hpp"
#include "lockstep/comm/collectives.hpp"

namespace lockstep::checkpoint {

struct WriterOptions {
  std::string directory;               // the run's checkpoints/ folder
  std::int64_t keep = 3;               // newest files kept; at least 1
  std::int64_t keep_every = 0;         // rounds; files of its multiples are kept for good; 0: none
  std::size_t chunk_bytes = 4u << 20;  // what rank 0 receives at a time; at least 64
};

class Writer {
 public:
  // Rank 0 makes the folder and sweeps what earlier writers left (temporaries only). No collective: call it
  // through comm::agreed, for rank 0 throws InputError when the folder cannot be made or read. ContractError
  // for bad options. `collectives` must outlive the writer, which alone uses it while write() runs.
  Writer(comm::Collectives& collectives, WriterOptions options);
  ~Writer();
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;

  // Collective. Gathers to rank 0 in chunks through staging (two buffers a rank, whatever the state's size),
  // then publishes: close, fsync, verify, rename, fsync the folder, pointer, prune. Live storage must not
  // change until it returns. Returns the file's path on every rank. ContractError on every rank, before
  // anything is written: the ranks disagree on names, shapes, dtypes or the round; an element that no rank
  // holds; a name that a file cannot hold. IoError, the same on every rank, when anything failed on any: what
  // was published before is intact, nothing half-written stays. CommError passes through.
  std::string write(const Contents& contents);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::checkpoint
