#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "lockstep/core/runtime.hpp"

namespace lockstep {
namespace {

// Sets the launchers' variables for one test; what the test itself runs under is put aside.
class LauncherTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_PROCID", "SLURM_STEP_ID",
                             "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "PMI_RANK", "PMI_SIZE"}) {
      if (const char* value = std::getenv(name)) saved_[name] = value;
      unsetenv(name);
      names_.push_back(name);
    }
  }

  void TearDown() override {
    for (const std::string& name : names_) unsetenv(name.c_str());
    for (const auto& [name, value] : saved_) setenv(name.c_str(), value.c_str(), 1);
  }

  static Launcher detect(const std::map<std::string, std::string>& variables) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    return Launcher::detect();
  }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::string> saved_;
};

void expect(const Launcher& launcher, const std::string& name, int rank, int size) {
  EXPECT_EQ(launcher.name, name);
  EXPECT_EQ(launcher.rank, rank);
  EXPECT_EQ(launcher.size, size);
}

TEST_F(LauncherTest, AloneIsOneRank) {
  expect(detect({}), "", 0, 1);
}

TEST_F(LauncherTest, OpenMpi) {
  expect(detect({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}}), "mpirun", 2, 4);
}

TEST_F(LauncherTest, SrunStep) {
  expect(detect({{"SLURM_PROCID", "5"}, {"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "8"}}), "srun", 5, 8);
}

// srun -n 2 inside a job of 8 tasks.
TEST_F(LauncherTest, SrunStepSmallerThanItsJob) {
  expect(detect({{"SLURM_PROCID", "1"},
                 {"SLURM_STEP_ID", "3"},
                 {"SLURM_NTASKS", "8"},
                 {"SLURM_STEP_NUM_TASKS", "2"}}),
         "srun", 1, 2);
}

TEST_F(LauncherTest, MpirunInsideASlurmJobBelievesMpirun) {
  expect(detect({{"SLURM_PROCID", "0"},
                 {"SLURM_STEP_ID", "0"},
                 {"SLURM_NTASKS", "8"},
                 {"OMPI_COMM_WORLD_RANK", "1"},
                 {"OMPI_COMM_WORLD_SIZE", "2"}}),
         "mpirun", 1, 2);
}

TEST_F(LauncherTest, ABatchScriptIsOneRankWhateverItsJobHas) {
  expect(detect({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}), "", 0, 1);
  expect(detect({{"SLURM_STEP_ID", "4294967291"}}), "", 0, 1);  // the batch step's reserved number
}

TEST_F(LauncherTest, Pmi) {
  expect(detect({{"PMI_RANK", "3"}, {"PMI_SIZE", "6"}}), "mpirun", 3, 6);
}

TEST_F(LauncherTest, GarbageAnnouncesNothing) {
  expect(detect({{"OMPI_COMM_WORLD_SIZE", "many"}}), "", 0, 1);
  expect(detect({{"OMPI_COMM_WORLD_SIZE", "-3"}}), "", 0, 1);
  expect(detect({{"OMPI_COMM_WORLD_SIZE", "4 "}}), "", 0, 1);
  expect(detect({{"OMPI_COMM_WORLD_SIZE", "99999999999"}}), "", 0, 1);
  expect(detect({{"OMPI_COMM_WORLD_SIZE", "0"}}), "", 0, 1);
}

}  // namespace
}  // namespace lockstep
