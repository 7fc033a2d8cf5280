#include "lockstep/data/state_map.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <numeric>

#include "lockstep/core/error.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;

class StateMapTest : public ::testing::Test {
 protected:
  std::unique_ptr<comm::Collectives> all_ =
      comm::make_collectives(comm::Communicator::world().duplicate(), "auto", 60);

  // A vector of 10 elements, of which rank r holds those with index mod size == r as extents of one, and a
  // whole scalar.
  StateView view() {
    StateView view;
    StateEntry entry{.name = "part/x", .dtype = Dtype::float64, .shape = {10}, .extents = {}};
    for (std::uint64_t i = static_cast<std::uint64_t>(all_->rank()); i < 10;
         i += static_cast<std::uint64_t>(all_->size()))
      entry.extents.push_back({i, 1, reinterpret_cast<std::byte*>(&held_[i])});
    view.entries.push_back(entry);
    view.add_whole("whole", Dtype::int64, {}, &number_);
    return view;
  }

  std::array<double, 10> held_{};
  std::int64_t number_ = 7;
};

TEST_F(StateMapTest, GathersEveryRanksPartsOnRankZeroAndCopies) {
  for (std::size_t i = 0; i < held_.size(); ++i) held_[i] = static_cast<double>(i) + 0.5;
  const StateMap map = gather_state(*all_, view());
  held_[0] = -1;
  if (all_->rank() != 0) {
    EXPECT_TRUE(map.empty());
    return;
  }
  EXPECT_TRUE(at::equal(map.at("part/x"), at::arange(10, at::kDouble) + 0.5));
  EXPECT_EQ(map.at("whole").item<std::int64_t>(), 7);
}

TEST_F(StateMapTest, ScattersRankZerosMapIntoEveryRanksParts) {
  StateMap map;
  if (all_->rank() == 0)
    map = {{"part/x", at::arange(10, at::kDouble) * 2}, {"whole", at::scalar_tensor(9, at::kLong)}};
  scatter_state(*all_, map, view());
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const bool own = i % static_cast<std::size_t>(all_->size()) == static_cast<std::size_t>(all_->rank());
    EXPECT_EQ(held_[i], own ? 2.0 * static_cast<double>(i) : 0.0) << i;
  }
  EXPECT_EQ(number_, 9);
}

TEST_F(StateMapTest, ALackingEntryIsLeftAlone) {
  StateMap map;
  if (all_->rank() == 0) map = {{"part/x", at::ones(10, at::kDouble)}};
  scatter_state(*all_, map, view());
  EXPECT_EQ(number_, 7);
}

TEST_F(StateMapTest, AllProblemsAreToldTogether) {
  const StateMap map{{"part/x", at::zeros({5, 2}, at::kDouble)}, {"extra", at::zeros({})}};
  try {
    check_state(map, view());
    FAIL() << "nothing was refused";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("missing: whole"));
    EXPECT_THAT(error.what(), HasSubstr("unexpected: extra"));
    EXPECT_THAT(error.what(), HasSubstr("part/x is float64 [5, 2], wanted float64 [10]"));
  }
}

}  // namespace
}  // namespace lockstep
