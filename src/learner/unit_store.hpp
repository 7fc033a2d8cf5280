// The store of sharding `parameters`: each rank keeps a slice of every parameter, gradient and optimizer
// state at rest. A unit is gathered just before its forward and its backward, and its gradients are
// reduce-scattered as soon as they are complete (as FSDP2's fully_shard; Zhao et al., "PyTorch FSDP", 2023).
#pragma once

#include <memory>

#include "lockstep/learner/flat_store.hpp"

namespace lockstep::learner {

class UnitStore : public Store {
 public:
  // Collective. `module` holds all that is used in forward; its nn::Unit modules are the units. `shards` is
  // how many this rank owns: shard rank, rank + ranks, rank + 2 ranks, ... of the batch (cyclic), so that a
  // reduction over ranks sums neighbours.
  UnitStore(const std::vector<ParameterGroup>& groups, torch::nn::Module& module, RankGrid& grid,
            comm::Reduction reduction, std::size_t shards, std::size_t leaves_a_shard);
  ~UnitStore() override;
  UnitStore(const UnitStore&) = delete;
  UnitStore& operator=(const UnitStore&) = delete;

  comm::Collectives& collectives() noexcept override;
  const ShardingPlan& plan() const noexcept override;
  const std::vector<OwnedPart>& owned() const noexcept override;
  const ParameterSpec& parameter(std::size_t index) const override;
  std::size_t parameter_count() const noexcept override;
  StateEntry state_of(const at::Tensor& tensor, const std::string& name) const override;

  void begin_step(LeafOrder order) override;
  void begin_leaf() override;
  void end_leaf() override;
  void abandon_leaf() noexcept override;
  bool received(std::size_t group) const noexcept override;

  void reduce() override;  // over groups; inside one it was done leaf by leaf
  ExactSum squared_norm(std::size_t group) const override;
  std::size_t first_non_finite() const override;
  void scale(std::size_t group, double factor) override;
  void refresh() override {}  // a unit is gathered from its slices when it is used
  void follow(const std::vector<std::pair<at::Tensor, at::Tensor>>& targets, double tau) override;

  void begin_forward() override;
  void end_forward() noexcept override;
  void lend() override;
  void take_back() noexcept override;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::learner
