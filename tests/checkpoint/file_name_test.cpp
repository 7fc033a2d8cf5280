#include "lockstep/checkpoint/file_name.hpp"

#include <gtest/gtest.h>

#include "lockstep/core/error.hpp"

namespace lockstep::checkpoint {
namespace {

TEST(FileName, HasTenDigits) {
  EXPECT_EQ(file_name(0), "round_0000000000.h5");
  EXPECT_EQ(file_name(12), "round_0000000012.h5");
  EXPECT_EQ(file_name(9'999'999'999), "round_9999999999.h5");
}

TEST(FileName, RefusesRoundsThatDoNotFit) {
  EXPECT_THROW(file_name(-1), ContractError);
  EXPECT_THROW(file_name(10'000'000'000), ContractError);
}

TEST(FileName, IsReadBack) {
  EXPECT_EQ(round_of("round_0000000012.h5"), 12);
  EXPECT_EQ(round_of("round_9999999999.h5"), 9'999'999'999);
}

TEST(FileName, OtherNamesHaveNoRound) {
  for (const char* name :
       {"", "latest", "round_12.h5", "round_00000000012.h5", "round_-000000012.h5", "round_0000000012.h5~",
        ".round_0000000012.h5.tmp", "round_000000001x.h5", "Round_0000000012.h5", "round_ 000000012.h5"}) {
    EXPECT_EQ(round_of(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace lockstep::checkpoint
