// What a rank says when others do not come: their numbers, before the deadline is much exceeded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "lockstep/core/error.hpp"
#include "lockstep/core/runtime.hpp"
#include "support/collectives.hpp"

namespace lockstep::comm {
namespace {

using testing::HasSubstr;
using testing::Not;

class DeadlineTest : public testing::TestWithParam<std::string> {};

// The last rank stays away; all others must name it, and it alone.
TEST_P(DeadlineTest, NamesTheRanksThatHaveNotArrived) {
  auto collectives = test::world_collectives(GetParam(), 1.0);
  const int absent = collectives->size() - 1;
  if (collectives->rank() == absent) {
    std::this_thread::sleep_for(std::chrono::milliseconds(4500));
  } else {
    const double start = now_seconds();
    std::vector<float> values(1000, 1);
    std::string message;
    try {
      collectives->all_reduce(values.data(), values.size(), Dtype::float32, ReduceOp::sum).wait();
    } catch (const CommError& error) {
      message = error.what();
    }
    EXPECT_THAT(message, HasSubstr("deadline"));
    EXPECT_THAT(message, HasSubstr("all_reduce #"));
    EXPECT_THAT(message, HasSubstr("4000 bytes"));
    EXPECT_THAT(message, HasSubstr("rank " + std::to_string(absent) + " (pid"));
    for (int r = 0; r < absent; ++r)
      EXPECT_THAT(message, Not(HasSubstr("rank " + std::to_string(r) + " (pid")));
    EXPECT_LT(now_seconds() - start, 4.0);
  }
  // The failed Collectives is done for; it stays alive so that its end needs nobody.
  static_cast<void>(collectives.release());
}

TEST_P(DeadlineTest, AMessageThatNeverComesIsNamed) {
  auto collectives = test::world_collectives(GetParam(), 0.3);
  std::byte byte{};
  try {
    collectives->receive({&byte, 1}, (collectives->rank() + 1) % collectives->size(), 9).wait();
    ADD_FAILURE() << "nothing was sent";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(), HasSubstr("receive of 1 bytes from rank"));
    EXPECT_THAT(error.what(), HasSubstr("tag 9"));
  }
  static_cast<void>(collectives.release());
}

INSTANTIATE_TEST_SUITE_P(Backends, DeadlineTest, testing::ValuesIn(test::collective_backends()));

}  // namespace
}  // namespace lockstep::comm
