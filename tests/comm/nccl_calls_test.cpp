// Which calls the NCCL backend makes, in which order: groups, waits between streams, the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>

#include "device.hpp"
#include "lockstep/core/error.hpp"
#include "nccl_double/nccl_double.hpp"
#include "places.hpp"

namespace lockstep::comm {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using Calls = std::vector<std::string>;

const test::Place device{"nccl", "device"};

class NcclCallsTest : public testing::Test {
 protected:
  void SetUp() override {
    collectives_ = test::collectives_for(device);
    memory_ = test::make_memory(device, *collectives_, 1 << 16);
    nccl_double::behaviour().polls_in_progress = 10;
    nccl_double::clear_calls();
  }
  void TearDown() override {
    collectives_.reset();
    test::expect_rules_kept();
  }
  int rank() const { return collectives_->rank(); }
  int size() const { return collectives_->size(); }
  std::vector<std::size_t> even_cuts(std::size_t each) const {
    std::vector<std::size_t> cuts;
    for (std::size_t r = 0; r <= static_cast<std::size_t>(size()); ++r) cuts.push_back(r * each);
    return cuts;
  }
  // Rank r has r + 1 elements.
  std::vector<std::size_t> rising_cuts() const {
    std::vector<std::size_t> cuts{0};
    for (int r = 0; r < size(); ++r) cuts.push_back(cuts.back() + static_cast<std::size_t>(r) + 1);
    return cuts;
  }
  // The calls of an operation whose own part is `inner`: behind the caller's stream, and marked at its end.
  // The device's work of streams: 1 is the test's, 2 the backend's.
  static Calls around(const Calls& inner) {
    Calls all{"cudaEventRecord(stream 1)", "cudaStreamWaitEvent(stream 2)"};
    all.insert(all.end(), inner.begin(), inner.end());
    all.emplace_back("cudaEventRecord(stream 2)");
    return all;
  }
  Calls group_of(const std::string& name, bool with_itself) const {
    Calls all{"ncclGroupStart"};
    for (int r = 0; r < size(); ++r) {
      if (with_itself || r != rank()) all.push_back(fmt::format("{}({})", name, r));
    }
    all.emplace_back("ncclGroupEnd");
    return all;
  }
  // One group of messages with every other rank, then the additions of the tree.
  Calls exact_sum() const {
    Calls all{"ncclGroupStart"};
    for (int r = 0; r < size(); ++r) {
      if (r == rank()) continue;
      all.push_back(fmt::format("ncclSend({})", r));
      all.push_back(fmt::format("ncclRecv({})", r));
    }
    all.emplace_back("ncclGroupEnd");
    for (int r = 1; r < size(); ++r) all.emplace_back("add(stream 2)");
    return all;
  }

  std::unique_ptr<Collectives> collectives_;
  std::unique_ptr<test::Memory> memory_;
};

TEST_F(NcclCallsTest, ExactReduceScatterIsOneGroupAndATree) {
  collectives_->reduce_scatter(memory_->data(), even_cuts(8), Dtype::float32, Reduction::exact).wait();
  EXPECT_THAT(nccl_double::calls(), ElementsAreArray(around(exact_sum())));
}

TEST_F(NcclCallsTest, FastReduceScatterIsNcclsOwn) {
  collectives_->reduce_scatter(memory_->data(), even_cuts(8), Dtype::float32, Reduction::fast).wait();
  EXPECT_THAT(nccl_double::calls(), ElementsAreArray(around({"ncclReduceScatter"})));
}

TEST_F(NcclCallsTest, UnequalSlicesAreReducedInOneGroup) {
  if (size() == 1) GTEST_SKIP() << "one slice equals itself";
  collectives_->reduce_scatter(memory_->data(), rising_cuts(), Dtype::float64, Reduction::fast).wait();
  EXPECT_THAT(nccl_double::calls(), ElementsAreArray(around(group_of("ncclReduce", true))));
}

TEST_F(NcclCallsTest, NoOrderOfIntegersMatters) {
  collectives_->reduce_scatter(memory_->data(), even_cuts(8), Dtype::int64, Reduction::exact).wait();
  EXPECT_THAT(nccl_double::calls(), ElementsAreArray(around({"ncclReduceScatter"})));
}

TEST_F(NcclCallsTest, AllGather) {
  collectives_->all_gather(memory_->data(), even_cuts(8), Dtype::float32).wait();
  EXPECT_THAT(nccl_double::calls(), ElementsAreArray(around({"ncclAllGather"})));
  if (size() == 1) return;
  nccl_double::clear_calls();
  collectives_->all_gather(memory_->data(), rising_cuts(), Dtype::float32).wait();
  EXPECT_THAT(nccl_double::calls(), ElementsAreArray(around(group_of("ncclBroadcast", true))));
}

TEST_F(NcclCallsTest, AllReduceOfFloatsIsExactAndOfExtremesNcclsOwn) {
  collectives_->all_reduce(memory_->data(), 64, Dtype::float64, ReduceOp::max).wait();
  EXPECT_THAT(nccl_double::calls(), ElementsAreArray(around({"ncclAllReduce"})));
  nccl_double::clear_calls();
  const std::size_t count = 16 * static_cast<std::size_t>(size());
  collectives_->all_reduce(memory_->data(), count, Dtype::float32, ReduceOp::sum).wait();
  Calls inner = exact_sum();
  inner.emplace_back("ncclAllGather");
  EXPECT_THAT(nccl_double::calls(), ElementsAreArray(around(inner)));
}

TEST_F(NcclCallsTest, BroadcastAndGather) {
  const int root = size() - 1;
  const std::span data(memory_->data(), 100);
  collectives_->broadcast(data, root).wait();
  EXPECT_THAT(nccl_double::calls(), ElementsAreArray(around({fmt::format("ncclBroadcast({})", root)})));
  nccl_double::clear_calls();
  const std::span out(memory_->data() + 1024, rank() == root ? 100 * static_cast<std::size_t>(size()) : 0);
  collectives_->gather(data, out, root).wait();
  Calls inner = group_of("ncclRecv", false);
  if (rank() == root) inner.insert(inner.begin(), "cudaMemcpyAsync(stream 2)");
  if (rank() != root) inner = {"ncclGroupStart", fmt::format("ncclSend({})", root), "ncclGroupEnd"};
  EXPECT_THAT(nccl_double::calls(), ElementsAreArray(around(inner)));
}

TEST_F(NcclCallsTest, MessagesThatMeetGoInOneGroupOnAStreamOfTheirOwn) {
  const int next = (rank() + 1) % size();
  const int previous = (rank() + size() - 1) % size();
  Request receiving = collectives_->receive({memory_->data(), 100}, previous, 1);
  Request sending = collectives_->send({memory_->data() + 512, 100}, next, 1);
  receiving.wait();
  sending.wait();
  const Calls right{"cudaEventRecord(stream 1)",
                    "cudaEventRecord(stream 1)",
                    "cudaStreamWaitEvent(stream 3)",
                    "cudaStreamWaitEvent(stream 3)",
                    "ncclGroupStart",
                    fmt::format("ncclRecv({})", previous),
                    fmt::format("ncclSend({})", next),
                    "ncclGroupEnd",
                    "cudaEventRecord(stream 3)",
                    "cudaEventRecord(stream 3)"};
  EXPECT_THAT(nccl_double::calls(), ElementsAreArray(right));
}

TEST_F(NcclCallsTest, HostMemoryNeverReachesNccl) {
  std::vector<float> values(100, 1);
  collectives_->all_reduce(values.data(), values.size(), Dtype::float32, ReduceOp::sum).wait();
  collectives_->barrier().wait();
  EXPECT_EQ(values, std::vector<float>(100, static_cast<float>(size())));
  EXPECT_TRUE(nccl_double::calls().empty());
}

// The values are computed on the caller's stream after the call: only the backend's wait makes them come
// first.
TEST_F(NcclCallsTest, StartsBehindWhatTheCallerComputes) {
  auto* data = reinterpret_cast<double*>(memory_->data());
  const auto count = static_cast<std::size_t>(size());
  nccl_double::launch(test::computing_stream(), "fill", [=, mine = rank() + 1.0] {
    for (std::size_t k = 0; k < count; ++k) data[k] = mine;
  });
  collectives_->reduce_scatter(data, even_cuts(1), Dtype::float64, Reduction::exact).wait();
  EXPECT_EQ(data[rank()], size() * (size() + 1) / 2.0);
}

TEST_F(NcclCallsTest, OperationsInFlightAreAllIssuedBeforeTheFirstEnds) {
  nccl_double::behaviour().polls_in_progress = 0;
  nccl_double::behaviour().kernels_hang = true;
  Request first = collectives_->all_gather(memory_->data(), even_cuts(8), Dtype::float32);
  Request second = collectives_->all_gather(memory_->data() + 4096, even_cuts(8), Dtype::float32);
  EXPECT_FALSE(first.test());
  EXPECT_EQ(std::ranges::count(nccl_double::calls(), "ncclAllGather"), 2);
  nccl_double::behaviour().kernels_hang = false;
  second.wait();
  EXPECT_TRUE(first.test());
}

TEST_F(NcclCallsTest, EndsBothCommunicatorsInOrder) {
  collectives_.reset();
  const Calls one{"ncclCommFinalize", "ncclCommDestroy"};
  EXPECT_THAT(nccl_double::calls(), testing::ElementsAre(one[0], one[1], one[0], one[1]));
}

TEST(NcclCalls, WithoutAdditionExactSumsAreRefusedAndFastOnesAreNot) {
  DeviceWork work = test::fresh_device();
  work.add = nullptr;
  auto collectives = make_collectives(Communicator::world(), "nccl", 20, work);
  const auto memory = test::make_memory(device, *collectives, 4096);
  std::vector<std::size_t> cuts(static_cast<std::size_t>(collectives->size()) + 1, 0);
  std::iota(cuts.begin(), cuts.end(), 0);
  EXPECT_THROW(collectives->reduce_scatter(memory->data(), cuts, Dtype::float32, Reduction::exact),
               ContractError);
  collectives->reduce_scatter(memory->data(), cuts, Dtype::float32, Reduction::fast).wait();
}

}  // namespace
}  // namespace lockstep::comm
