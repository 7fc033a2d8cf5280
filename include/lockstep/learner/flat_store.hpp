// Where a step runs: parameters and gradients in flat buffers from the collectives' own memory, cut by the
// sharding plan, reduced and gathered. One rank uses the same buffers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/data/state_view.hpp"
#include "lockstep/learner/leaf_tree.hpp"
#include "lockstep/learner/parameter_group.hpp"
#include "lockstep/learner/sharding_plan.hpp"

namespace lockstep::learner {

enum class Sharding : std::uint8_t { none, optimizer };
Sharding sharding_from(const std::string& name);  // InputError listing the known ones

struct StoreOptions {
  Sharding sharding = Sharding::optimizer;
  comm::Reduction reduction = comm::Reduction::exact;
  std::size_t bucket_bytes = 25u << 20;
};

// What this rank steps: a run of a flat buffer, as flat tensors over live storage.
struct OwnedPart {
  std::size_t buffer = 0;          // index in plan().buffers
  std::size_t begin = 0, end = 0;  // elements of that flat buffer
  at::Tensor parameters, gradients;
};

class FlatStore {
 public:
  // Collective. Moves the parameters' values into flat buffers and makes the tensors views of them. The
  // groups must be the same on every rank. `tree` is this rank's order of leaves.
  FlatStore(const std::vector<ParameterGroup>& groups, comm::Collectives& collectives,
            const StoreOptions& options, const LeafTree& tree);
  ~FlatStore();
  FlatStore(const FlatStore&) = delete;
  FlatStore& operator=(const FlatStore&) = delete;

  comm::Collectives& collectives() noexcept;
  const ShardingPlan& plan() const noexcept;
  // What this rank steps, in the plan's order: its slice of each flat buffer, or all of it when nothing is
  // sharded.
  const std::vector<OwnedPart>& owned() const noexcept;
  const std::string& parameter_name(std::size_t index) const;
  const ParameterSpec& parameter(std::size_t index) const;

  // Between begin_leaf and end_leaf every gradient that backward accumulates is taken into the leaf's slot
  // and the parameter's own .grad is left undefined. A parameter without a gradient counts as zero.
  void begin_leaf(const LeafTree::Step& step);
  void end_leaf(const LeafTree::Step& step);
  // A leaf failed: drops what it left behind.
  void abandon_leaf() noexcept;
  // Whether any parameter of the group received a gradient on this rank since begin_step.
  void begin_step() noexcept;
  bool received(std::size_t group) const noexcept;

  // Collective. Bucket by bucket in fixed order: afterwards the owned parts hold the sum over all ranks.
  void reduce();
  // Exact sum of squares of this rank's share of the reduced gradients; the shares of all ranks cover each
  // element once.
  ExactSum squared_norm() const;
  // Lowest index of a parameter with a non-finite element in this rank's share; parameter count when there is
  // none.
  std::size_t first_non_finite() const;
  std::size_t parameter_count() const noexcept;
  void scale(double factor);
  // Collective. Makes every rank's parameters equal after the owned parts were stepped.
  void refresh();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::learner
