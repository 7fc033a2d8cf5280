// Views of what the shards of a rank hold, entry by entry the same on every shard.
#pragma once

#include <cstdint>
#include <string>

#include "lockstep/data/state_view.hpp"

namespace lockstep::rollout {

// An entry of `elements` elements a shard, of which this shard (number `shard`) has its own at `data`. Shape:
// shards * rows first, then `row`.
void add_shard_rows(StateView& view, std::string name, Dtype dtype, std::int64_t shard, std::int64_t shards,
                    std::int64_t rows, std::vector<std::int64_t> row, void* data);
// An entry [shards] of which this shard holds one number.
void add_shard_number(StateView& view, std::string name, std::int64_t shard, std::int64_t shards,
                      std::int64_t& number);
// Adds the extents of another shard to the same entries.
void add_extents(StateView& view, const StateView& shard);

}  // namespace lockstep::rollout
