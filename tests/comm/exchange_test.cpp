// Messages beyond MPI's int counts are cut; a small limit shows it without gigabytes.
#include "comm/exchange.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "comm/communicator_handle.hpp"
#include "comm/scratch_pool.hpp"

namespace lockstep::comm {
namespace {

TEST(Exchange, CutsAndJoinsLargeMessages) {
  const Communicator world = Communicator::world();
  const int next = (world.rank() + 1) % world.size();
  const int previous = (world.rank() + world.size() - 1) % world.size();
  for (const std::size_t bytes : {0, 1, 6, 7, 8, 1000}) {
    std::vector<std::byte> sent(bytes);
    for (std::size_t k = 0; k < bytes; ++k)
      sent[k] = static_cast<std::byte>(k * 7 + static_cast<std::size_t>(world.rank()));
    std::vector<std::byte> received(bytes);
    Exchange exchange(world.handle().comm, 7);
    exchange.receive(received.data(), bytes, previous, 3);
    exchange.send(sent.data(), bytes, next, 3);
    while (!exchange.done()) {
    }
    for (std::size_t k = 0; k < bytes; ++k) {
      ASSERT_EQ(received[k], static_cast<std::byte>(k * 7 + static_cast<std::size_t>(previous)))
          << k << " of " << bytes;
    }
  }
}

TEST(ScratchPool, ReusesTheSmallestThatFitsAndHoldsNoMoreThanWasUsedAtOnce) {
  const std::size_t before = staging::live_bytes();
  {
    ScratchPool pool;
    const std::byte* small = nullptr;
    {
      const auto a = pool.take(100);
      const auto b = pool.take(1000);
      small = a->data();
      EXPECT_EQ(staging::live_bytes(), before + 1100);
    }
    EXPECT_EQ(pool.take(90)->data(), small);
    EXPECT_EQ(staging::live_bytes(), before + 1100);
    EXPECT_EQ(pool.take(2000)->size(), 2000u);
    EXPECT_EQ(staging::live_bytes(), before + 2100);  // in the place of the one of 1000
  }
  EXPECT_EQ(staging::live_bytes(), before);
}

}  // namespace
}  // namespace lockstep::comm
