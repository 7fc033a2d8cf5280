// What a Buffer does without a Runtime, and after one: no test main of MPI here.
#include <gtest/gtest.h>

#include "lockstep/core/error.hpp"
#include "lockstep/core/runtime.hpp"
#include "lockstep/staging/buffer.hpp"

namespace lockstep::staging {
namespace {

TEST(BufferLife, NeedsARuntimeAndSurvivesItsEnd) {
  EXPECT_THROW(Buffer(64), ContractError);
  Buffer outliving;
  {
    Runtime runtime(0, nullptr, {});
    outliving = Buffer(4096);
    runtime.finish();
  }
  // Its memory is left, not freed through a finished Kokkos, and still readable until the process ends.
  EXPECT_EQ(outliving.data()[4095], std::byte{0});
  outliving = Buffer();
  EXPECT_EQ(outliving.size(), 0u);
}

}  // namespace
}  // namespace lockstep::staging
