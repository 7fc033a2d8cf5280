#include "checkpoint/folder.hpp"

#include <algorithm>
#include <filesystem>

#include "lockstep/checkpoint/file_name.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/posix_file.hpp"

namespace lockstep::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view temporary_suffix = ".tmp";

// Names of the regular files in a folder; links to files are not regular here.
std::vector<std::string> regular_files(const std::string& directory) {
  std::vector<std::string> names;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
      if (entry.symlink_status().type() == fs::file_type::regular)
        names.push_back(entry.path().filename().string());
    }
  } catch (const fs::filesystem_error& error) {
    if (error.code() == std::errc::no_such_file_or_directory) return {};
    throw IoError("cannot read the folder " + directory + ": " + error.code().message());
  }
  return names;
}

bool is_temporary(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(temporary_suffix)) return false;
  const std::string_view inner = name.substr(1, name.size() - 1 - temporary_suffix.size());
  return inner == pointer_name || round_of(inner).has_value();
}

}  // namespace

std::vector<std::int64_t> rounds_in(const std::string& directory) {
  std::vector<std::int64_t> rounds;
  for (const std::string& name : regular_files(directory)) {
    if (const auto round = round_of(name)) rounds.push_back(*round);
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds;
}

std::vector<std::int64_t> rounds_to_prune(std::span<const std::int64_t> rounds, std::int64_t written,
                                          std::int64_t keep, std::int64_t keep_every) {
  std::vector<std::int64_t> candidates;
  std::copy_if(rounds.begin(), rounds.end(), std::back_inserter(candidates),
               [&](std::int64_t round) { return round <= written; });
  std::sort(candidates.rbegin(), candidates.rend());
  candidates.erase(candidates.begin(),
                   candidates.begin() + std::min<std::int64_t>(keep, std::ssize(candidates)));
  std::erase_if(candidates, [&](std::int64_t round) {
    return round == written || (keep_every > 0 && round % keep_every == 0);
  });
  return candidates;
}

std::string temporary_path(const std::string& directory, const std::string& name) {
  return directory + "/." + name + std::string(temporary_suffix);
}

void sweep_temporaries(const std::string& directory) {
  for (const std::string& name : regular_files(directory)) {
    if (is_temporary(name)) remove_file(directory + "/" + name);
  }
}

}  // namespace lockstep::checkpoint
