// What tests with several ranks share: collectives and one folder, removed at the end.
#pragma once

#include <optional>
#include <string>

#include "checkpoint/scratch_folder.hpp"
#include "lockstep/comm/collectives.hpp"

namespace lockstep::checkpoint {

class WithRanks : public testing::Test {
 protected:
  void SetUp() override {
    collectives_ = comm::make_collectives(comm::Communicator::world(), "mpi", 60);
    if (rank() == 0) folder_.emplace();
    directory_ = comm::broadcast_text(*collectives_, rank() == 0 ? folder_->path() : "", 0);
  }
  void TearDown() override {
    collectives_->barrier().wait();
    folder_.reset();
  }

  comm::Collectives& collectives() { return *collectives_; }
  int rank() const { return collectives_->rank(); }
  int size() const { return collectives_->size(); }
  const std::string& directory() const { return directory_; }

 private:
  std::unique_ptr<comm::Collectives> collectives_;
  std::optional<ScratchFolder> folder_;
  std::string directory_;
};

}  // namespace lockstep::checkpoint
