// Every backend at every rank count: values, in the tree's bits, and traffic.
#include "lockstep/comm/collectives.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "lockstep/core/error.hpp"
#include "lockstep/core/reduction_tree.hpp"
#include "places.hpp"
#include "support/collectives.hpp"

namespace lockstep::comm {
namespace {

template <class T>
constexpr Dtype dtype_of = std::is_same_v<T, float>    ? Dtype::float32
                           : std::is_same_v<T, double> ? Dtype::float64
                                                       : Dtype::int64;

// Rank `rank`'s contribution: every rank can make every rank's. Cheap mixing instead of a random stream,
// since each rank makes all of them; exponents are wide, so that another order of addition gives other bits.
template <class T>
std::vector<T> contribution(int rank, std::size_t count, std::uint64_t seed) {
  std::vector<T> values(count);
  std::uint64_t state = seed * 1000003 + static_cast<std::uint64_t>(rank) * 7919 + 1;
  for (T& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto mantissa = static_cast<std::int64_t>(state >> 40) - (1 << 23);
    value = static_cast<T>(mantissa * (std::int64_t{1} << (state >> 32 & 31)));
  }
  return values;
}

template <class T>
std::vector<T> tree_sum(int ranks, std::size_t count, std::uint64_t seed) {
  std::vector<std::vector<T>> all;
  for (int r = 0; r < ranks; ++r) all.push_back(contribution<T>(r, count, seed));
  for (std::size_t k = 0; k < count; ++k) {
    tree_combine(all.size(), [&](std::size_t into, std::size_t from) { all[into][k] += all[from][k]; });
  }
  return all.front();
}

std::vector<std::size_t> even_cuts(std::size_t count, int ranks) {
  std::vector<std::size_t> cuts;
  for (int r = 0; r <= ranks; ++r)
    cuts.push_back(count * static_cast<std::size_t>(r) / static_cast<std::size_t>(ranks));
  return cuts;
}

// All to the last rank but one element to the first: unequal and, from three ranks on, empty slices.
std::vector<std::size_t> lopsided_cuts(std::size_t count, int ranks) {
  std::vector<std::size_t> cuts(static_cast<std::size_t>(ranks) + 1, std::min<std::size_t>(count, 1));
  cuts.front() = 0;
  cuts.back() = count;
  return cuts;
}

const std::vector<std::size_t> sizes{0, 1, 2, 17, 1009, 200003};

class CollectivesTest : public testing::TestWithParam<test::Place> {
 protected:
  static constexpr std::size_t memory_bytes = std::size_t{8} << 20;

  void SetUp() override {
    collectives_ = test::collectives_for(GetParam());
    ASSERT_EQ(collectives_->backend(), GetParam().backend);
    memory_ = test::make_memory(GetParam(), *collectives_, memory_bytes);
  }
  void TearDown() override {
    memory_.reset();
    collectives_.reset();
    test::expect_rules_kept();
  }
  // A copy of `values`, which must live until look(), in the memory under test, `offset` bytes from its
  // start.
  template <class T>
  T* place(const std::vector<T>& values, std::size_t offset = 0) {
    collectives_->barrier().wait();  // the contract: a later collective before other slices are overwritten
    memory_->write(offset, values.data(), values.size() * sizeof(T));
    return reinterpret_cast<T*>(memory_->data() + offset);
  }
  // What place() made of `values`, now.
  template <class T>
  void look(std::vector<T>& values, std::size_t offset = 0) {
    memory_->read(values.data(), offset, values.size() * sizeof(T));
  }
  int rank() const { return collectives_->rank(); }
  int size() const { return collectives_->size(); }

  template <class T>
  void check_reduce_scatter(std::size_t count, const std::vector<std::size_t>& cuts, Reduction reduction) {
    auto values = contribution<T>(rank(), count, count);
    collectives_->reduce_scatter(place(values), cuts, dtype_of<T>, reduction).wait();
    look(values);
    const auto right = tree_sum<T>(size(), count, count);
    const auto me = static_cast<std::size_t>(rank());
    const double magnitude = 0x1p54 * size();  // of the largest sum
    for (std::size_t k = cuts[me]; k < cuts[me + 1]; ++k) {
      if (reduction == Reduction::exact) {
        ASSERT_EQ(values[k], right[k]) << "element " << k << " of " << count;
      } else {
        ASSERT_NEAR(static_cast<double>(values[k]), static_cast<double>(right[k]), 1e-5 * magnitude) << k;
      }
    }
    collectives_->barrier().wait();
  }

  template <class T>
  void check_all_gather(std::size_t count, const std::vector<std::size_t>& cuts) {
    std::vector<T> values(count, T{-1});
    const auto me = static_cast<std::size_t>(rank());
    for (std::size_t k = cuts[me]; k < cuts[me + 1]; ++k) values[k] = static_cast<T>(k % 1000 + 1000 * me);
    collectives_->all_gather(place(values), cuts, dtype_of<T>).wait();
    look(values);
    for (std::size_t r = 0; r + 1 < cuts.size(); ++r) {
      for (std::size_t k = cuts[r]; k < cuts[r + 1]; ++k)
        ASSERT_EQ(values[k], static_cast<T>(k % 1000 + 1000 * r)) << k;
    }
    collectives_->barrier().wait();
  }

  template <class T>
  void check_all_reduce(std::size_t count) {
    auto values = contribution<T>(rank(), count, count + 1);
    collectives_->all_reduce(place(values), count, dtype_of<T>, ReduceOp::sum).wait();
    look(values);
    const auto right = tree_sum<T>(size(), count, count + 1);
    for (std::size_t k = 0; k < count; ++k) ASSERT_EQ(values[k], right[k]) << k << " of " << count;
    collectives_->barrier().wait();
  }

  std::unique_ptr<Collectives> collectives_;
  std::unique_ptr<test::Memory> memory_;
};

TEST_P(CollectivesTest, ReduceScatterGivesTheTreesBits) {
  for (const std::size_t count : sizes) {
    for (const auto& cuts : {even_cuts(count, size()), lopsided_cuts(count, size())}) {
      check_reduce_scatter<float>(count, cuts, Reduction::exact);
      check_reduce_scatter<double>(count, cuts, Reduction::exact);
      check_reduce_scatter<std::int64_t>(count, cuts, Reduction::exact);
    }
  }
}

TEST_P(CollectivesTest, FastReduceScatterSumsToo) {
  for (const std::size_t count : sizes) {
    check_reduce_scatter<float>(count, even_cuts(count, size()), Reduction::fast);
    check_reduce_scatter<double>(count, lopsided_cuts(count, size()), Reduction::fast);
  }
}

TEST_P(CollectivesTest, AllGatherGivesEveryRankEverything) {
  for (const std::size_t count : sizes) {
    for (const auto& cuts : {even_cuts(count, size()), lopsided_cuts(count, size())}) {
      check_all_gather<float>(count, cuts);
      check_all_gather<std::int64_t>(count, cuts);
    }
  }
}

TEST_P(CollectivesTest, AllReduceGivesTheTreesBits) {
  for (const std::size_t count : sizes) {
    check_all_reduce<float>(count);
    check_all_reduce<double>(count);
    check_all_reduce<std::int64_t>(count);
  }
}

TEST_P(CollectivesTest, AllReduceTakesExtremes) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{5}, std::size_t{100000}}) {
    for (const ReduceOp op : {ReduceOp::max, ReduceOp::min}) {
      std::vector<double> values(count);
      for (std::size_t k = 0; k < count; ++k)
        values[k] = static_cast<double>((k + static_cast<std::size_t>(rank())) % 7);
      collectives_->all_reduce(place(values), count, Dtype::float64, op).wait();
      look(values);
      for (std::size_t k = 0; k < count; ++k) {
        double right = static_cast<double>(k % 7);
        for (std::size_t r = 1; r < static_cast<std::size_t>(size()); ++r) {
          const auto other = static_cast<double>((k + r) % 7);
          right = op == ReduceOp::max ? std::max(right, other) : std::min(right, other);
        }
        ASSERT_EQ(values[k], right) << k;
      }
    }
  }
}

TEST_P(CollectivesTest, BroadcastFromEveryRoot) {
  for (int root = 0; root < size(); ++root) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{3}, std::size_t{1} << 20}) {
      std::vector<std::byte> data(bytes, static_cast<std::byte>(rank() == root ? 100 + root : 1));
      collectives_->broadcast({place(data), bytes}, root).wait();
      look(data);
      ASSERT_EQ(data, std::vector<std::byte>(bytes, static_cast<std::byte>(100 + root)));
    }
  }
}

TEST_P(CollectivesTest, GatherInRankOrder) {
  for (int root = 0; root < size(); ++root) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{5}, std::size_t{600001}}) {
      const std::vector<std::byte> data(bytes, static_cast<std::byte>(rank() + 1));
      std::vector<std::byte> out(rank() == root ? bytes * static_cast<std::size_t>(size()) : 0);
      const std::size_t beside = std::size_t{1} << 20;
      collectives_->gather({place(data), bytes}, {place(out, beside), out.size()}, root).wait();
      look(out, beside);
      for (std::size_t k = 0; k < out.size(); ++k) ASSERT_EQ(out[k], static_cast<std::byte>(k / bytes + 1));
    }
  }
}

TEST_P(CollectivesTest, MessagesGoRoundTheRing) {
  const int next = (rank() + 1) % size();
  const int previous = (rank() + size() - 1) % size();
  std::vector<std::int64_t> mine(200000, rank());
  std::vector<std::int64_t> theirs(mine.size(), -1);
  const std::size_t beside = std::size_t{2} << 20;
  const std::span in(place(theirs, beside), theirs.size());
  const std::span out(place(mine), mine.size());
  Request receiving = collectives_->receive(std::as_writable_bytes(in), previous, 5);
  Request sending = collectives_->send(std::as_bytes(out), next, 5);
  // Independent of collectives in between.
  collectives_->barrier().wait();
  sending.wait();
  receiving.wait();
  look(theirs, beside);
  EXPECT_EQ(theirs, std::vector<std::int64_t>(mine.size(), previous));
}

TEST_P(CollectivesTest, SeveralInFlightCompleteInOrder) {
  std::vector<std::vector<float>> buckets;
  std::vector<Request> requests;
  const std::size_t count = 50021;
  const auto cuts = even_cuts(count, size());
  for (std::uint64_t b = 0; b < 6; ++b) buckets.push_back(contribution<float>(rank(), count, b));
  const auto place_of = [](std::size_t b) { return b << 18; };
  for (std::size_t b = 0; b < buckets.size(); ++b) place(buckets[b], place_of(b));
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    requests.push_back(
        collectives_->reduce_scatter(memory_->data() + place_of(b), cuts, Dtype::float32, Reduction::exact));
  }
  requests.back().wait();
  for (Request& request : requests) EXPECT_TRUE(request.test());
  const auto me = static_cast<std::size_t>(rank());
  for (std::uint64_t b = 0; b < 6; ++b) {
    const auto right = tree_sum<float>(size(), count, b);
    look(buckets[b], place_of(b));
    for (std::size_t k = cuts[me]; k < cuts[me + 1]; ++k) ASSERT_EQ(buckets[b][k], right[k]);
  }
}

TEST_P(CollectivesTest, ReduceScatterThenAllGatherOnOneBuffer) {
  const std::size_t count = 262144;
  const auto cuts = even_cuts(count, size());
  auto first = contribution<float>(rank(), count, 0);
  float* data = place(first);
  std::vector<float> total = tree_sum<float>(size(), count, 0);
  for (int repeat = 0; repeat < 20; ++repeat) {
    collectives_->reduce_scatter(data, cuts, Dtype::float32, Reduction::exact).wait();
    collectives_->all_gather(data, cuts, Dtype::float32).wait();
    look(first);
    for (std::size_t k = 0; k < count; k += 97) ASSERT_EQ(first[k], total[k]) << "repeat " << repeat;
    // Every rank now holds `total`: the next sum is size() of them, in the tree.
    for (float& value : total) {
      std::vector<float> copies(static_cast<std::size_t>(size()), value);
      tree_combine(copies.size(), [&](std::size_t into, std::size_t from) { copies[into] += copies[from]; });
      value = copies.front();
    }
  }
}

TEST_P(CollectivesTest, MovesNoMoreThanTheBound) {
  const std::size_t count = 48000;
  const auto n = static_cast<std::uint64_t>(size());
  const std::uint64_t bound = count * sizeof(float) / n * (n - 1);
  std::vector<float> values(count, 1);
  float* data = place(values);
  const Traffic before = collectives_->traffic();
  collectives_->reduce_scatter(data, even_cuts(count, size()), Dtype::float32, Reduction::exact).wait();
  collectives_->all_gather(data, even_cuts(count, size()), Dtype::float32).wait();
  const Traffic after = collectives_->traffic();
  for (const Kind kind : {Kind::reduce_scatter, Kind::all_gather}) {
    const auto i = static_cast<std::size_t>(kind);
    EXPECT_EQ(after.calls[i] - before.calls[i], 1u);
    EXPECT_EQ(after.bytes[i] - before.bytes[i], bound) << to_string(kind);
  }
}

TEST_P(CollectivesTest, BrokenContractsAreNamedBeforeAnyMessage) {
  std::vector<std::uint16_t> half(8);
  const auto cuts = even_cuts(8, size());
  EXPECT_THROW(collectives_->reduce_scatter(half.data(), cuts, Dtype::bfloat16, Reduction::exact),
               ContractError);
  EXPECT_THROW(collectives_->all_gather(half.data(), std::vector<std::size_t>{0}, Dtype::bfloat16),
               ContractError);
  EXPECT_THROW(collectives_->broadcast({}, size()), ContractError);
  EXPECT_THROW(collectives_->send({}, -1, 0), ContractError);
  EXPECT_THROW(collectives_->send({}, 0, 16384), ContractError);
  collectives_->barrier().wait();
}

INSTANTIATE_TEST_SUITE_P(Backends, CollectivesTest, testing::ValuesIn(test::places()),
                         [](const auto& info) { return info.param.backend + "_" + info.param.memory; });

TEST(MakeCollectives, RefusesUnknownBackendsAndDeadlines) {
  EXPECT_THROW(make_collectives(Communicator::world(), "smoke_signals", 10), ContractError);
  EXPECT_THROW(make_collectives(Communicator::world(), "mpi", 0), ContractError);
}

TEST(MakeCollectives, AutoTakesTheNodesMemory) {
  const auto collectives = test::world_collectives("auto");
  EXPECT_EQ(collectives->backend(), collectives->size() == 1 ? "mpi" : "shared_memory");
}

TEST(Communicator, SplitsAndDuplicates) {
  const Communicator world = Communicator::world();
  const Communicator same = world.duplicate();
  EXPECT_EQ(same.rank(), world.rank());
  const Communicator parity = world.split(world.rank() % 2, -world.rank());
  const int members = (world.size() + 1 - world.rank() % 2) / 2;
  EXPECT_EQ(parity.size(), members);
  EXPECT_EQ(parity.rank(), members - 1 - world.rank() / 2);  // keys fall with the rank
  EXPECT_EQ(world.split_node().size(), world.size());
  const auto collectives = make_collectives(world.split(world.rank() % 2, world.rank()), "auto", 30);
  std::int64_t sum = world.rank();
  collectives->all_reduce(&sum, 1, Dtype::int64, ReduceOp::sum).wait();
  std::int64_t right = 0;
  for (int r = world.rank() % 2; r < world.size(); r += 2) right += r;
  EXPECT_EQ(sum, right);
}

}  // namespace
}  // namespace lockstep::comm
