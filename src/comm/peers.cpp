#include "peers.hpp"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/host.hpp"

namespace lockstep::comm {
namespace {

std::string first_line(const char* path) {
  std::string line;
  std::ifstream(path) >> line;
  return line;
}

// Processes see each other when the kernel's boot and the process namespace are the same.
std::string sight() {
  std::array<char, 64> space{};
  if (::readlink("/proc/self/ns/pid", space.data(), space.size() - 1) < 0) return {};
  return first_line("/proc/sys/kernel/random/boot_id") + space.data();
}

}  // namespace

Peers::Peers(Collectives& collectives) {
  const std::string mine = sight();
  for (const std::string& text :
       all_gather_text(collectives, fmt::format("{}\n{}\n{}", ::getpid(), host_name(), mine))) {
    std::istringstream lines(text);
    Peer peer;
    std::string theirs;
    lines >> peer.pid >> peer.host >> theirs;
    peer.visible = !mine.empty() && mine == theirs;
    peers_.push_back(std::move(peer));
  }
}

// The kernel's letter for the process: R, S, D running or sleeping, T stopped, Z ended; '?' unknown, 'X'
// gone.
char Peers::state(int rank) const {
  const Peer& peer = peers_[static_cast<std::size_t>(rank)];
  if (!peer.visible) return '?';
  std::ifstream file(fmt::format("/proc/{}/stat", peer.pid));
  if (!file) return 'X';
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(") ");  // the name itself may hold anything
  return name_end == std::string::npos ? 'X' : text[name_end + 2];
}

bool Peers::lost(int rank) const {
  const char now = state(rank);
  return now == 'X' || now == 'Z';
}

std::string Peers::describe(int rank) const {
  const Peer& peer = peers_[static_cast<std::size_t>(rank)];
  const char now = state(rank);
  const char* note = now == 'T' ? ", stopped" : now == 'X' || now == 'Z' ? ", ended" : "";
  return fmt::format("rank {} (pid {}, host {}{})", rank, peer.pid, peer.host, note);
}

}  // namespace lockstep::comm
