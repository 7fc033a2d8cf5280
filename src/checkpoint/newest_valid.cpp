#include "lockstep/checkpoint/newest_valid.hpp"

#include <fcntl.h>

#include <filesystem>
#include <ranges>
#include <vector>

#include "checkpoint/folder.hpp"
#include "lockstep/checkpoint/file_name.hpp"
#include "lockstep/checkpoint/reader.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/log.hpp"
#include "lockstep/core/posix_file.hpp"

namespace lockstep::checkpoint {
namespace {

// The pointer's line, without its newline; nothing when it cannot be read as one. It is small or it is none
// of ours.
std::string pointed_to(const std::string& directory) {
  const std::string path = directory + "/" + std::string(pointer_name);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return "";
  try {
    std::vector<std::byte> bytes(64);
    bytes.resize(PosixFile(path, O_RDONLY).read_at(0, bytes));
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return text.substr(0, text.find('\n'));
  } catch (const IoError&) {
    return "";
  }
}

void compare_with_pointer(const std::string& directory, const std::string& chosen) {
  const std::string pointed = pointed_to(directory);
  if (pointed == chosen) return;
  log::warning("the pointer " + directory + "/" + std::string(pointer_name) +
               (round_of(pointed) ? " names " + pointed : " names no checkpoint") +
               "; the newest valid one is " + chosen);
}

std::optional<std::string> scan(const std::string& directory) {
  const std::vector<std::int64_t> rounds = rounds_in(directory);
  if (rounds.empty()) return std::nullopt;
  std::vector<std::string> refusals;
  for (const std::int64_t round : std::views::reverse(rounds)) {
    std::string path = directory + "/" + file_name(round);
    try {
      verify(path);
    } catch (const CheckpointError& error) {
      refusals.emplace_back(error.what());
      continue;
    }
    for (const std::string& refusal : refusals) log::warning("not used: " + refusal);
    compare_with_pointer(directory, file_name(round));
    return path;
  }
  std::string all;  // told once, by whoever handles the error
  for (const std::string& refusal : refusals) all += "; " + refusal;
  throw CheckpointError("no checkpoint in " + directory + " is valid" + all);
}

}  // namespace

std::optional<std::string> newest_valid(comm::Collectives& collectives, const std::string& directory) {
  // Rank 0's answer, its kind in front.
  std::string answer;
  if (collectives.rank() == 0) {
    try {
      const auto path = scan(directory);
      answer = path ? "+" + *path : "0";
    } catch (const Error& error) {
      answer = std::string("-") + error.what();
    }
  }
  answer = comm::broadcast_text(collectives, answer, 0);
  if (answer.front() == '-') throw CheckpointError(answer.substr(1));
  if (answer.front() == '0') return std::nullopt;
  return answer.substr(1);
}

}  // namespace lockstep::checkpoint
