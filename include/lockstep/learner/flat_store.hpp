// The store of sharding `none` and `optimizer`: parameters and gradients in flat buffers from the
// collectives' own memory, cut by the sharding plan, reduced and gathered bucket by bucket after the last
// leaf. One rank uses the same buffers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/learner/parameter_group.hpp"
#include "lockstep/learner/rank_grid.hpp"
#include "lockstep/learner/store.hpp"

namespace lockstep::learner {

enum class Sharding : std::uint8_t { none, optimizer, parameters };
Sharding sharding_from(const std::string& name);  // InputError listing the known ones

struct StoreOptions {
  Sharding sharding = Sharding::optimizer;
  comm::Reduction reduction = comm::Reduction::exact;
  std::size_t bucket_bytes = 25u << 20;
  std::int64_t replicas = 1;  // groups of ranks: sharded inside, summed across
};

// The leaves that this rank combines by the tree: `own` of `total`, `per_shard` of each shard.
struct LeafCounts {
  std::size_t total = 1, own = 1, per_shard = 1;
};

class FlatStore : public Store {
 public:
  // Collective. Moves the parameters' values into flat buffers and makes the tensors views of them. The
  // groups must be the same on every rank.
  FlatStore(const std::vector<ParameterGroup>& groups, RankGrid& grid, const StoreOptions& options,
            const LeafCounts& leaves);
  ~FlatStore() override;
  FlatStore(const FlatStore&) = delete;
  FlatStore& operator=(const FlatStore&) = delete;

  comm::Collectives& collectives() noexcept override;
  const ShardingPlan& plan() const noexcept override;
  const std::vector<OwnedPart>& owned() const noexcept override;
  const ParameterSpec& parameter(std::size_t index) const override;
  std::size_t parameter_count() const noexcept override;

  void begin_step(LeafOrder order) override;
  void begin_leaf() override;
  void end_leaf() override;
  void abandon_leaf() noexcept override;
  bool received(std::size_t group) const noexcept override;

  void reduce() override;
  ExactSum squared_norm(std::size_t group) const override;
  std::size_t first_non_finite() const override;
  void scale(std::size_t group, double factor) override;
  void refresh() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::learner
