// G3: many operations back to back on the same windows, with random delays on each rank, against expected
// values. An undisturbed run would miss a buffer that is reused too early.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "lockstep/core/random.hpp"
#include "support/collectives.hpp"

namespace lockstep::comm {
namespace {

constexpr int operations = 300;
constexpr std::size_t largest = 30011;

class StressTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    collectives_ = test::world_collectives(GetParam());
    for (auto& window : windows_) window = collectives_->allocate(largest * sizeof(std::int64_t));
    plain_.resize(largest);
  }

  // Sleeps up to 2 ms about every third time; a stream of this rank's own.
  void maybe_delay() {
    if (delays_.below(3) == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(static_cast<std::int64_t>(delays_.below(2000))));
    }
  }

  std::int64_t* memory() {
    const auto choice = script_.below(3);
    return choice == 2 ? plain_.data() : reinterpret_cast<std::int64_t*>(windows_[choice].data());
  }

  void run(int step);
  void reduce_then_gather(std::int64_t* data, std::size_t count, int step);
  void reduce_all(std::int64_t* data, std::size_t count, int step);
  void spread(std::int64_t* data, std::size_t count, int step);

  std::int64_t value(int rank, std::size_t k, int step) const {
    return static_cast<std::int64_t>(k) * 31 + rank * 7919 + step * 104729;
  }
  std::int64_t sum(std::size_t k, int step) const {
    std::int64_t total = 0;
    for (int r = 0; r < collectives_->size(); ++r) total += value(r, k, step);
    return total;
  }
  void fill(std::int64_t* data, std::size_t count, int step) {
    for (std::size_t k = 0; k < count; ++k) data[k] = value(collectives_->rank(), k, step);
  }

  staging::Buffer windows_[2];
  std::vector<std::int64_t> plain_;
  std::unique_ptr<Collectives> collectives_;
  RandomStream script_{11, StreamId::test, 0};  // the same on every rank
  RandomStream delays_{12, StreamId::test, 1000};
};

void StressTest::reduce_then_gather(std::int64_t* data, std::size_t count, int step) {
  const auto ranks = static_cast<std::size_t>(collectives_->size());
  std::vector<std::size_t> cuts{0};
  for (std::size_t r = 1; r < ranks; ++r)
    cuts.push_back(cuts.back() + script_.below(count - cuts.back() + 1));
  cuts.push_back(count);
  fill(data, count, step);
  maybe_delay();
  Request reducing = collectives_->reduce_scatter(data, cuts, Dtype::int64, Reduction::exact);
  maybe_delay();
  reducing.wait();
  maybe_delay();
  Request gathering = collectives_->all_gather(data, cuts, Dtype::int64);
  maybe_delay();
  gathering.wait();
  for (std::size_t k = 0; k < count; ++k)
    ASSERT_EQ(data[k], sum(k, step)) << "step " << step << " element " << k;
}

void StressTest::reduce_all(std::int64_t* data, std::size_t count, int step) {
  fill(data, count, step);
  maybe_delay();
  Request request = collectives_->all_reduce(data, count, Dtype::int64, ReduceOp::sum);
  maybe_delay();
  request.wait();
  for (std::size_t k = 0; k < count; ++k)
    ASSERT_EQ(data[k], sum(k, step)) << "step " << step << " element " << k;
}

void StressTest::spread(std::int64_t* data, std::size_t count, int step) {
  const int root = static_cast<int>(script_.below(static_cast<std::uint64_t>(collectives_->size())));
  fill(data, count, step);
  maybe_delay();
  collectives_->broadcast(std::as_writable_bytes(std::span(data, count)), root).wait();
  for (std::size_t k = 0; k < count; ++k) ASSERT_EQ(data[k], value(root, k, step));
}

void StressTest::run(int step) {
  std::int64_t* data = memory();
  const std::size_t count = 1 + script_.below(script_.below(2) == 0 ? 300 : largest);
  // The contract: one later collective before a window is written again.
  std::int64_t small = 1;
  collectives_->all_reduce(&small, 1, Dtype::int64, ReduceOp::sum).wait();
  ASSERT_EQ(small, collectives_->size());
  switch (script_.below(4)) {
    case 0:
      return reduce_all(data, count, step);
    case 1:
      return spread(data, count, step);
    default:
      return reduce_then_gather(data, count, step);
  }
}

TEST_P(StressTest, DelaysChangeNothing) {
  delays_ = RandomStream(12, StreamId::test, 1000 + static_cast<std::uint32_t>(collectives_->rank()));
  for (int step = 0; step < operations && !HasFatalFailure(); ++step) run(step);
}

INSTANTIATE_TEST_SUITE_P(Backends, StressTest, testing::ValuesIn(test::collective_backends()));

}  // namespace
}  // namespace lockstep::comm
