// Private: where the ranks of a group run, and whether those on this host still live.
#pragma once

#include <string>
#include <vector>

namespace lockstep::comm {

class Collectives;

class Peers {
 public:
  // Collective.
  explicit Peers(Collectives& collectives);

  // True when the rank's process ended. Only known for ranks whose process this one can see; false for
  // others.
  bool lost(int rank) const;
  // "rank 1 (pid 77, host b)", with ", stopped" or ", ended" where that is known.
  std::string describe(int rank) const;

 private:
  struct Peer {
    int pid = 0;
    std::string host;
    bool visible = false;  // same host and process namespace
  };
  char state(int rank) const;

  std::vector<Peer> peers_;
};

}  // namespace lockstep::comm
