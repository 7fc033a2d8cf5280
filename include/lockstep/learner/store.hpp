// Where trained tensors live between and during steps: parameters, gradients, the sums over leaves and ranks,
// and what a rank steps. What is sharded differs from store to store, the step does not.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/core/exact_sum.hpp"
#include "lockstep/data/state_view.hpp"
#include "lockstep/learner/sharding_plan.hpp"

namespace lockstep::learner {

// What this rank steps: a run of a flat buffer, as flat tensors over live storage.
struct OwnedPart {
  std::size_t buffer = 0;          // index in plan().buffers
  std::size_t begin = 0, end = 0;  // elements of that flat buffer
  at::Tensor parameters, gradients;
};

// In which order a rank's leaves come: all leaves of a shard after another (`update`), or one of every shard
// a call (`accumulate`). The sums are the same bits.
enum class LeafOrder : std::uint8_t { by_shard, by_call };

// A tensor that lies whole in this rank's memory. ContractError when it is not contiguous.
StateEntry whole_state(const at::Tensor& tensor, const std::string& name);

class Store {
 public:
  virtual ~Store() = default;

  virtual comm::Collectives& collectives() noexcept = 0;
  virtual const ShardingPlan& plan() const noexcept = 0;
  // In the plan's order: this rank's slices of each flat buffer, or all of it when nothing is sharded.
  virtual const std::vector<OwnedPart>& owned() const noexcept = 0;
  virtual const ParameterSpec& parameter(std::size_t index) const = 0;
  virtual std::size_t parameter_count() const noexcept = 0;
  // This rank's extents of a tensor's live storage, under the given name; any tensor of the model or the
  // loss. ContractError when it is not contiguous.
  virtual StateEntry state_of(const at::Tensor& tensor, const std::string& name) const {
    return whole_state(tensor, name);
  }

  // Drops what an earlier step left behind. The next leaves come in this order, each with its forward and
  // backward between begin_leaf and end_leaf (collective where parameters are sharded): every gradient that
  // backward accumulates there is taken, and the parameter's own .grad is left undefined. A parameter without
  // a gradient counts as zero.
  virtual void begin_step(LeafOrder order) = 0;
  virtual void begin_leaf() = 0;
  virtual void end_leaf() = 0;
  // A leaf failed: drops what it left behind. The step must begin anew.
  virtual void abandon_leaf() noexcept = 0;
  // Whether any parameter of the group received a gradient on this rank since begin_step.
  virtual bool received(std::size_t group) const noexcept = 0;

  // Collective. Afterwards the owned parts hold the sum over all leaves of all ranks.
  virtual void reduce() = 0;
  // Exact sum of squares of this rank's share of a group's reduced gradients; the shares of all ranks cover
  // each element once.
  virtual ExactSum squared_norm(std::size_t group) const = 0;
  // Lowest index of a parameter with a non-finite element in this rank's share; parameter_count() when there
  // is none.
  virtual std::size_t first_non_finite() const = 0;
  // Multiplies a group's owned gradients.
  virtual void scale(std::size_t group, double factor) = 0;
  // Collective. Makes every rank's parameters what the stepped owned parts say.
  virtual void refresh() = 0;
  // Collective. Each target becomes target + tau (source - target), or its source where tau is 1.
  virtual void follow(const std::vector<std::pair<at::Tensor, at::Tensor>>& targets, double tau);

  // Collective. Around forwards without a leaf.
  virtual void begin_forward() {}
  virtual void end_forward() noexcept {}
  // Collective. From lend to take_back every tensor is whole on every rank, for readers other than the step.
  virtual void lend() {}
  virtual void take_back() noexcept {}
};

}  // namespace lockstep::learner
