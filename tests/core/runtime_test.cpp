// Inside the Runtime that the MPI test main has started.
#include "lockstep/core/runtime.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>

#include "../../src/core/mpi_check.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Runtime, StartedMpiWithAllThreads) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  EXPECT_EQ(level, MPI_THREAD_MULTIPLE);
}

TEST(Runtime, ChoseABlasPath) {
  ASSERT_NE(std::getenv("MKL_CBWR"), nullptr);
  EXPECT_THAT(std::string(std::getenv("MKL_CBWR")), testing::AnyOf("AVX2", "COMPATIBLE"));
}

TEST(Runtime, IsMadeOnce) {
  EXPECT_THAT([] { const Runtime second(0, nullptr, {}); },
              ThrowsMessage<ContractError>(HasSubstr("one Runtime")));
}

TEST(Runtime, NeedsAThread) {
  EXPECT_THAT([] { const Runtime idle(0, nullptr, {.threads = 0}); },
              ThrowsMessage<ContractError>(HasSubstr("threads is 0")));
}

TEST(Runtime, LaunchersAnnouncementAgreesWithMpi) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT_EQ(Launcher::detect().size, size);
}

void expect_named(MPI_Comm communicator) {
  EXPECT_THAT(
      [&] { LOCKSTEP_MPI(MPI_Send(nullptr, 0, MPI_INT, 1000, 0, communicator)); },
      ThrowsMessage<CommError>(AllOf(HasSubstr("MPI_Send(nullptr, 0, MPI_INT, 1000, 0, communicator)"),
                                     HasSubstr("MPI_ERR_RANK"))));
}

TEST(MpiErrors, AreThrownWithCallAndCause) {
  expect_named(MPI_COMM_WORLD);
  expect_named(MPI_COMM_SELF);
}

TEST(MpiErrors, AreThrownFromDerivedCommunicatorsToo) {
  MPI_Comm duplicate = MPI_COMM_NULL;
  LOCKSTEP_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &duplicate));
  expect_named(duplicate);
  LOCKSTEP_MPI(MPI_Comm_free(&duplicate));
}

}  // namespace
}  // namespace lockstep
