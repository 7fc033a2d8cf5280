#include "shard_state.hpp"

namespace lockstep::rollout {

void add_shard_rows(StateView& view, std::string name, Dtype dtype, std::int64_t shard, std::int64_t shards,
                    std::int64_t rows, std::vector<std::int64_t> row, void* data) {
  std::int64_t elements = rows;
  for (const std::int64_t size : row) elements *= size;
  std::vector<std::int64_t> shape{shards * rows};
  shape.insert(shape.end(), row.begin(), row.end());
  const Extent extent{static_cast<std::uint64_t>(shard * elements), static_cast<std::uint64_t>(elements),
                      static_cast<std::byte*>(data)};
  view.entries.push_back({std::move(name), dtype, std::move(shape), {extent}});
}

void add_shard_number(StateView& view, std::string name, std::int64_t shard, std::int64_t shards,
                      std::int64_t& number) {
  add_shard_rows(view, std::move(name), Dtype::int64, shard, shards, 1, {}, &number);
}

void add_extents(StateView& view, const StateView& shard) {
  for (std::size_t i = 0; i < view.entries.size(); ++i) {
    std::vector<Extent>& extents = view.entries[i].extents;
    const std::vector<Extent>& more = shard.entries[i].extents;
    extents.insert(extents.end(), more.begin(), more.end());
  }
}

}  // namespace lockstep::rollout
