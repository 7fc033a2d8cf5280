// The run directory: its lock, its files' places, what is written into it besides checkpoints.
#pragma once

#include <memory>
#include <string>

#include "lockstep/checkpoint/run_lock.hpp"
#include "lockstep/comm/collectives.hpp"

namespace lockstep::app {

class RunDirectory {
 public:
  RunDirectory(comm::Collectives& collectives, std::string path);

  const std::string& path() const noexcept { return path_; }
  std::string checkpoints() const { return path_ + "/checkpoints"; }
  std::string metrics() const { return path_ + "/metrics.jsonl"; }

  // Collective. Takes the lock when the directory is there already; writes nothing else. InputError on all
  // ranks when it could not be made or written, or, naming the holder, when another job has it.
  void lock_existing();
  // Collective. Makes what is missing, takes the lock if not yet held, opens log.txt, writes deck.toml.
  // InputError on all ranks when it cannot be written.
  void open(const std::string& effective_deck);

 private:
  comm::Collectives& collectives_;
  std::string path_;
  std::unique_ptr<checkpoint::RunLock> lock_;  // rank 0
};

}  // namespace lockstep::app
