// What the NCCL backend says, and what it ends, when something goes wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <thread>

#include "device.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/core/runtime.hpp"
#include "nccl_double/nccl_double.hpp"
#include "places.hpp"

namespace lockstep::comm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const test::Place device{"nccl", "device"};

// What `act` throws as a CommError; empty when it does not.
std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const CommError& error) {
    return error.what();
  }
  return {};
}

// What making the collectives says when `prepare` made the device misbehave.
std::string refusal(const std::function<void()>& prepare, double deadline_s = 20) {
  const DeviceWork work = test::fresh_device();
  prepare();
  return message_of([&] { make_collectives(Communicator::world(), "nccl", deadline_s, work); });
}

auto aborts() {
  return std::ranges::count(nccl_double::calls(), "ncclCommAbort");
}

class NcclFailuresTest : public testing::Test {
 protected:
  void make(double deadline_s) {
    collectives_ = test::collectives_for(device, deadline_s);
    nccl_double::behaviour().polls_in_progress = 1;
    memory_ = test::make_memory(device, *collectives_, 1 << 16);
    cuts_.resize(static_cast<std::size_t>(collectives_->size()) + 1);
    std::iota(cuts_.begin(), cuts_.end(), 0);
  }
  // A failed Collectives is done for; it stays alive so that its end needs nobody.
  void TearDown() override {
    static_cast<void>(collectives_.release());
    static_cast<void>(memory_.release());
    test::expect_rules_kept();
  }
  std::string reduce(Reduction reduction = Reduction::fast) {
    return message_of(
        [&] { collectives_->reduce_scatter(memory_->data(), cuts_, Dtype::float32, reduction).wait(); });
  }

  std::unique_ptr<Collectives> collectives_;
  std::unique_ptr<test::Memory> memory_;
  std::vector<std::size_t> cuts_;
};

TEST(NcclDevices, NoneIsSaidOnEveryRank) {
  const int size = Communicator::world().size();
  const std::string message = refusal([] { nccl_double::behaviour().devices = 0; });
  for (int r = 0; r < size; ++r) EXPECT_THAT(message, HasSubstr(fmt::format("rank {}: no CUDA device", r)));
}

TEST(NcclDevices, OneRankWithoutIsNamedOnEveryRank) {
  const Communicator world = Communicator::world();
  const int last = world.size() - 1;
  const std::string message = refusal([&] {
    if (world.rank() == last) nccl_double::behaviour().devices = 0;
  });
  EXPECT_THAT(message, HasSubstr(fmt::format("rank {}: no CUDA device", last)));
  if (last > 0) {
    EXPECT_THAT(message, Not(HasSubstr("rank 0:")));
  }
}

TEST(NcclDevices, MoreRanksThanDevicesAreRefused) {
  const int size = Communicator::world().size();
  if (size < 3) GTEST_SKIP() << "two devices are enough";
  EXPECT_THAT(refusal([] { nccl_double::behaviour().devices = 2; }),
              HasSubstr(fmt::format("rank 2: {} ranks on a node of 2 CUDA devices", size)));
}

TEST(NcclDevices, TwoRanksOnOneDeviceAreRefused) {
  if (Communicator::world().size() == 1) GTEST_SKIP() << "one rank shares with nobody";
  for (const int devices : {1, 8}) {
    const std::string message = refusal([&] {
      nccl_double::behaviour().devices = devices;
      nccl_double::behaviour().one_device_for_all = true;
    });
    EXPECT_THAT(message, AllOf(HasSubstr("rank 1: shares the CUDA device 0000:00:00.0 of "),
                               HasSubstr(" with rank 0")));
  }
}

TEST(NcclDevices, ARankTakesTheDeviceOfItsNumber) {
  const auto collectives = test::collectives_for(device);
  EXPECT_THAT(nccl_double::calls(), Contains(fmt::format("cudaSetDevice({})", collectives->rank())));
}

TEST(NcclStart, RankZerosTroubleIsKnownToAll) {
  EXPECT_THAT(refusal([] { nccl_double::behaviour().failing_call = "ncclGetUniqueId"; }),
              HasSubstr("ncclGetUniqueId failed: unhandled system error"));
}

TEST(NcclStart, AnErrorIsPassedOnWithNcclsAccount) {
  const std::string message =
      refusal([] { nccl_double::behaviour().failing_call = "ncclCommInitRankConfig"; });
  EXPECT_THAT(message, AllOf(HasSubstr("ncclCommInitRankConfig"), HasSubstr("unhandled system error"),
                             HasSubstr("what NCCL says of it")));
}

TEST(NcclStart, ADeadlineThatPassesAbortsIt) {
  const double start = now_seconds();
  const std::string message = refusal([] { nccl_double::behaviour().never_done = true; }, 0.3);
  EXPECT_THAT(message, HasSubstr("the deadline of 0.3 s passed in ncclCommInitRankConfig"));
  EXPECT_EQ(aborts(), 1);
  EXPECT_LT(now_seconds() - start, 3);
}

TEST_F(NcclFailuresTest, CallsThatNcclNeverFinishesEndAtTheDeadline) {
  make(0.5);
  nccl_double::behaviour().never_done = true;
  EXPECT_THAT(reduce(),
              AllOf(HasSubstr("the deadline of 0.5 s passed in reduce_scatter #"), HasSubstr("over NCCL")));
  EXPECT_EQ(aborts(), 1);
}

TEST_F(NcclFailuresTest, KernelsThatHangEndAtTheDeadlineAndNothingWorksAfterwards) {
  make(0.5);
  nccl_double::behaviour().kernels_hang = true;
  EXPECT_THAT(reduce(), HasSubstr("the deadline of 0.5 s passed in reduce_scatter #"));
  EXPECT_EQ(aborts(), 1);
  nccl_double::behaviour().kernels_hang = false;
  EXPECT_THAT(reduce(), AllOf(HasSubstr("was aborted: "), HasSubstr("the deadline of 0.5 s passed")));
  EXPECT_EQ(aborts(), 1);
}

// The last rank stays away; all others name it.
TEST_F(NcclFailuresTest, RanksThatHaveNotArrivedAreNamed) {
  make(1);
  const int absent = collectives_->size() - 1;
  if (absent == 0) GTEST_SKIP() << "nobody to wait for";
  if (collectives_->rank() == absent) {
    std::this_thread::sleep_for(std::chrono::milliseconds(4500));
    return;
  }
  const std::string message = reduce(Reduction::exact);
  EXPECT_THAT(message, HasSubstr(fmt::format("not arrived: rank {} (pid", absent)));
  for (int r = 0; r < absent; ++r) EXPECT_THAT(message, Not(HasSubstr(fmt::format("rank {} (pid", r))));
  EXPECT_EQ(aborts(), 1);
}

TEST_F(NcclFailuresTest, AMessageThatNeverComesIsNamed) {
  make(0.5);
  const int from = (collectives_->rank() + 1) % collectives_->size();
  EXPECT_THAT(message_of([&] {
                collectives_->receive({memory_->data(), 8}, from, 0).wait();
              }),
              HasSubstr(fmt::format("receive of 8 bytes from rank {} over NCCL", from)));
  EXPECT_EQ(aborts(), 1);
}

TEST_F(NcclFailuresTest, ACallThatFailsIsNamedAndAborts) {
  make(20);
  nccl_double::behaviour().failing_call = "ncclReduceScatter";
  EXPECT_THAT(reduce(), AllOf(HasSubstr("ncclReduceScatter of the NCCL communicator for collectives failed"),
                              HasSubstr("unhandled system error"), HasSubstr("what NCCL says of it")));
  EXPECT_EQ(aborts(), 1);
}

// An abort inside an open group would be a rule broken, which TearDown looks for.
TEST_F(NcclFailuresTest, ACallThatFailsInAGroupEndsTheGroupFirst) {
  make(20);
  if (collectives_->size() == 1) GTEST_SKIP() << "no group without peers";
  nccl_double::behaviour().failing_call = "ncclRecv";
  EXPECT_THAT(reduce(Reduction::exact), HasSubstr("ncclRecv"));
  EXPECT_EQ(aborts(), 1);
  EXPECT_EQ(nccl_double::calls().back(), "ncclCommAbort");
}

TEST_F(NcclFailuresTest, AnErrorThatComesLaterIsFoundWhileWaiting) {
  make(20);
  nccl_double::behaviour().kernels_hang = true;
  Request request = collectives_->reduce_scatter(memory_->data(), cuts_, Dtype::float32, Reduction::fast);
  nccl_double::behaviour().later_error = ncclSystemError;
  EXPECT_THAT(message_of([&] { request.wait(); }),
              HasSubstr("an operation of the NCCL communicator for collectives"));
  EXPECT_EQ(aborts(), 1);
}

// Memory that the caller is about to free must not be written any more.
TEST_F(NcclFailuresTest, AnExceptionThatUnwindsPastARequestAborts) {
  make(20);
  nccl_double::behaviour().kernels_hang = true;
  try {
    const Request request =
        collectives_->reduce_scatter(memory_->data(), cuts_, Dtype::float32, Reduction::fast);
    throw std::runtime_error("another trouble");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(aborts(), 1);
}

}  // namespace
}  // namespace lockstep::comm
