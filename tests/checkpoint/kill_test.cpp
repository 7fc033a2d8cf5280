// SIGKILL of rank 0 at every site of the write path, and of another rank in mid-gather: round 1 or round 2 is
// there and whole, never neither; the job is gone before a deadline; a later writer sweeps what was left.
#include <gtest/gtest.h>

#include <cstdlib>

#include "checkpoint/example_state.hpp"
#include "checkpoint/scratch_folder.hpp"
#include "lockstep/checkpoint/checkpoint.hpp"
#include "lockstep/core/fault.hpp"

namespace lockstep::checkpoint {
namespace {

int run(const std::string& launcher, const std::string& directory, const std::string& fault) {
  const std::string command = "LOCKSTEP_FAULT=" + fault + " timeout 60 " + launcher +
                              " " LOCKSTEP_KILLED_WRITER " " + directory + " > " + directory + "/output 2>&1";
  return std::system(command.c_str());
}

constexpr const char* two_ranks = LOCKSTEP_MPIEXEC " " LOCKSTEP_MPIEXEC_NUMPROC " 2";

void expect_whole(const std::string& path) {
  EXPECT_NO_THROW(verify(path));
  ExampleState whole(example_tensors(), Spread::replicated, 0, 1);
  whole.clear();
  const Reader file(path);
  file.check(whole.view());
  file.read(whole.view());
  EXPECT_EQ(whole.first_wrong(), "");
}

// "site:rank"
class Kill : public testing::TestWithParam<std::string> {};

TEST_P(Kill, LeavesTheOldOrTheNewFile) {
  const ScratchFolder folder;
  const int status = run(two_ranks, folder.path(), GetParam() + ":2:kill");
  EXPECT_NE(status, 0);
  EXPECT_NE(WEXITSTATUS(status), 124) << "the job hung";
  const std::string old_path = folder.path() + "/" + file_name(1);
  const std::string new_path = folder.path() + "/" + file_name(2);
  EXPECT_TRUE(std::filesystem::exists(old_path) || std::filesystem::exists(new_path));
  for (const std::string& path : {old_path, new_path}) {
    if (std::filesystem::exists(path)) expect_whole(path);
  }
  // A later writer, on another number of ranks.
  EXPECT_EQ(run("", folder.path(), ""), 0) << read_file(folder.path() + "/output");
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/." + file_name(2) + ".tmp"));
  expect_whole(new_path);
}

std::vector<std::string> places() {
  std::vector<std::string> all;
  for (const std::string_view site : fault::sites()) {
    if (site.starts_with("checkpoint.")) all.push_back(std::string(site) + ":0");
  }
  if (!all.empty()) all.emplace_back("checkpoint.chunk:1");
  return all;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Kill);
INSTANTIATE_TEST_SUITE_P(EverySite, Kill, testing::ValuesIn(places()), [](const auto& place) {
  std::string name = place.param.substr(place.param.find('.') + 1);
  name[name.find(':')] = '_';
  return name;
});

}  // namespace
}  // namespace lockstep::checkpoint
