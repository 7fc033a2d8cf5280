// The real NCCL and CUDA runtime, as far as they go without a GPU.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <cstring>

#include "lockstep/core/error.hpp"
#include "support/collectives.hpp"

namespace lockstep::comm {
namespace {

TEST(NcclLibrary, IsTheOneOfItsHeader) {
  int version = 0;
  ASSERT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, NCCL_VERSION_CODE);
  EXPECT_STREQ(ncclGetErrorString(ncclSuccess), "no error");
}

TEST(NcclLibrary, MakesIdsThatDiffer) {
  ncclUniqueId one{};
  ncclUniqueId other{};
  ASSERT_EQ(ncclGetUniqueId(&one), ncclSuccess);
  ASSERT_EQ(ncclGetUniqueId(&other), ncclSuccess);
  EXPECT_NE(std::memcmp(&one, &other, sizeof one), 0);
}

TEST(NcclLibrary, WithoutAGpuEveryRankSaysSoAndGoesOn) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) GTEST_SKIP() << "there is a GPU";
  const Communicator world = Communicator::world();
  try {
    make_collectives(world.duplicate(), "nccl", 20);
    ADD_FAILURE() << "made collectives over NCCL without a GPU";
  } catch (const CommError& error) {
    for (int r = 0; r < world.size(); ++r)
      EXPECT_THAT(error.what(), testing::HasSubstr("rank " + std::to_string(r) + ": no CUDA device"));
  }
  EXPECT_TRUE(any_rank(*test::world_collectives("mpi"), true));
}

}  // namespace
}  // namespace lockstep::comm
