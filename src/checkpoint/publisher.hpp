// Turns a closed temporary file into the run's newest checkpoint, one durable step after another. Rank 0
// only.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "lockstep/checkpoint/writer.hpp"

namespace lockstep::checkpoint {

// Knows nothing of ranks and tensors. Call the steps in the order below. Each throws IoError; after a failure
// before publish() the temporary can be discarded and nothing has changed, after it the new file is as good
// as the old ones.
class Publisher {
 public:
  explicit Publisher(WriterOptions options) : options_(std::move(options)) {}

  // Makes the folder and removes earlier temporaries. Throws InputError.
  void prepare() const;

  std::string path(std::int64_t round) const;       // where it is published
  std::string temporary(std::int64_t round) const;  // where it is written

  void sync(std::int64_t round) const;      // fsync the temporary
  void verify(std::int64_t round) const;    // read it back: length, whole-file hash, every dataset's hash
  void publish(std::int64_t round) const;   // rename it over the checkpoint's name
  void sync_folder() const;                 // make the name durable
  void point_to(std::int64_t round) const;  // replace `latest`, durably
  void prune(std::int64_t round) const;     // remove what retention lets go
  void discard(std::int64_t round) const noexcept;  // remove the temporary, if there is one

  // Flips one bit in the middle of the temporary, if there is one: what an injected fault `flip` does.
  void damage(std::int64_t round) const;

 private:
  WriterOptions options_;
};

}  // namespace lockstep::checkpoint
