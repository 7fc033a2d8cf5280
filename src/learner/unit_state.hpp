// The state of a UnitStore: what lies where, which units are gathered, how far the leaf got.
#pragma once

#include <torch/nn/module.h>

#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "gathered_buffer.hpp"
#include "lockstep/learner/leaf_tree.hpp"
#include "unit_map.hpp"
#include "unit_memory.hpp"
#include "unit_store.hpp"

namespace lockstep::learner {

// What is gathered at once, and how far this leaf got with it.
struct UnitProgress {
  std::vector<std::size_t> buffers;
  std::vector<std::size_t> trained;  // parameters that ask for a gradient
  std::size_t arrived = 0;           // of their gradients, in this leaf
  int users = 0;                     // forwards and lends under way
  int passes = 0;                    // in backward
  bool awaits_gradients = false;     // backward reached it; its gradients are not complete
  bool kept = false;                 // to the leaf's end, for tied parameters
  bool reduced = false;              // in this leaf
  bool in_use() const { return users > 0 || passes > 0 || awaits_gradients || kept; }
};

struct UnitStore::State {
  State(RankGrid& ranks, comm::Reduction how, std::size_t shards, std::size_t leaves_a_shard)
      : grid(ranks),
        collectives(ranks.group()),
        reduction(how),
        own_shards(shards),
        per_shard(leaves_a_shard),
        shard_tree(leaves_a_shard, leaves_a_shard),
        own_tree(shards, shards) {}

  RankGrid& grid;
  comm::Collectives& collectives;  // of this rank's group
  comm::Reduction reduction;
  std::size_t own_shards, per_shard;
  LeafTree shard_tree;  // the leaves of a shard, before ranks are summed
  LeafTree own_tree;    // sums over ranks, of this rank's first shard, its second, ...
  UnitMap map;
  std::vector<ParameterSpec> specs;
  std::size_t trained_count = 0;  // the first specs; frozen ones follow
  std::vector<at::Tensor> tensors;
  std::unordered_map<const void*, std::size_t> index_of;
  ShardingPlan plan;
  std::optional<UnitMemory> memory;
  std::vector<GatheredBuffer> buffers;        // in the plan's order
  std::vector<std::size_t> buffer_of;         // by parameter
  std::vector<Placement> placement_of;        // by parameter
  std::vector<std::vector<at::Tensor>> sums;  // [slot of own_tree][buffer]: slices of summed gradients
  std::vector<std::vector<at::Tensor>>
      partials;  // [slot][buffer]: whole gradients, with several leaves a shard
  std::vector<OwnedPart> owned;
  std::vector<std::vector<Block>> owned_blocks;  // the norm's blocks of each
  std::vector<UnitProgress> units;
  std::deque<std::size_t> resting;  // units still gathered that nobody uses, oldest first
  std::vector<bool> taken, group_received;
  LeafOrder order = LeafOrder::by_shard;
  std::size_t leaves_begun = 0, shard = 0, leaf_of_shard = 0;
  bool in_leaf = false;
  int lends = 0;

  void list_parameters(const std::vector<ParameterGroup>& groups, torch::nn::Module& module);
  void make_buffers();
  at::Tensor zero_slice(std::size_t buffer) const;

  void open(std::size_t unit);
  void settle(std::size_t unit);
  void make_room();
  void let_rest_go() noexcept;
  void close_all() noexcept;

  void take(std::size_t index, const at::Tensor& gradient);
  bool last_of_shard() const { return leaf_of_shard + 1 == per_shard; }
  LeafTree::Step shard_step() const;
  at::Tensor& whole_gradient(std::size_t buffer, std::size_t slot);
  void complete(std::size_t unit);
  void reduce_buffer(std::size_t buffer);
};

}  // namespace lockstep::learner
