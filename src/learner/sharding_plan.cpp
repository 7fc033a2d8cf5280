#include "lockstep/learner/sharding_plan.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "lockstep/core/error.hpp"

namespace lockstep::learner {
namespace {

std::size_t padded(std::size_t elements) {
  return (elements + alignment_elements - 1) / alignment_elements * alignment_elements;
}

// Where blocks begin inside [begin, end), ascending.
std::vector<std::size_t> block_starts(const FlatBuffer& buffer, std::size_t begin, std::size_t end) {
  std::vector<std::size_t> starts;
  for (const Placement& place : buffer.placements) {
    if (place.offset < begin || place.offset >= end) continue;
    for (std::size_t at = 0; at < place.elements; at += block_elements) starts.push_back(place.offset + at);
  }
  return starts;
}

// Cuts a bucket at the block border nearest to each even share.
Bucket cut_bucket(const FlatBuffer& buffer, std::size_t begin, std::size_t end, std::size_t ranks) {
  Bucket bucket{.begin = begin, .end = end, .cuts = {0}};
  const std::vector<std::size_t> starts = block_starts(buffer, begin, end);
  for (std::size_t rank = 1; rank < ranks; ++rank) {
    const std::size_t target = begin + (end - begin) * rank / ranks;
    auto next = std::lower_bound(starts.begin(), starts.end(), target);
    const std::size_t above = next == starts.end() ? end : *next;
    const std::size_t below = next == starts.begin() ? begin : *std::prev(next);
    const std::size_t nearest = target - below <= above - target ? below : above;
    bucket.cuts.push_back(std::max(nearest - begin, bucket.cuts.back()));
  }
  bucket.cuts.push_back(end - begin);
  return bucket;
}

void cut_into_buckets(FlatBuffer& buffer, std::size_t ranks, std::size_t bucket_bytes) {
  std::size_t begin = 0;
  const std::size_t limit = std::max<std::size_t>(bucket_bytes / size_of(buffer.dtype), 1);
  for (const Placement& place : buffer.placements) {
    const std::size_t end = place.offset + padded(place.elements);
    if (end - begin > limit && place.offset > begin) {
      buffer.buckets.push_back(cut_bucket(buffer, begin, place.offset, ranks));
      begin = place.offset;
    }
  }
  if (buffer.elements > begin) buffer.buckets.push_back(cut_bucket(buffer, begin, buffer.elements, ranks));
}

}  // namespace

std::size_t ParameterSpec::elements() const noexcept {
  std::size_t product = 1;
  for (const std::int64_t extent : shape) product *= static_cast<std::size_t>(extent);
  return product;
}

double ShardingPlan::padding_share() const noexcept {
  std::size_t used = 0, all = 0;
  for (const FlatBuffer& buffer : buffers) {
    all += buffer.elements;
    for (const Placement& place : buffer.placements) used += place.elements;
  }
  return all == 0 ? 0.0 : static_cast<double>(all - used) / static_cast<double>(all);
}

ShardingPlan make_plan(const std::vector<ParameterSpec>& parameters, std::size_t ranks,
                       std::size_t bucket_bytes) {
  if (ranks == 0) throw ContractError("a sharding plan needs at least one rank");
  ShardingPlan plan{.ranks = ranks, .buffers = {}};
  std::map<std::tuple<std::size_t, std::size_t, Dtype>, std::size_t> index;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ParameterSpec& spec = parameters[i];
    const auto [found, fresh] = index.try_emplace({spec.unit, spec.group, spec.dtype}, plan.buffers.size());
    if (fresh)
      plan.buffers.push_back({.unit = spec.unit,
                              .group = spec.group,
                              .dtype = spec.dtype,
                              .elements = 0,
                              .placements = {},
                              .buckets = {}});
    FlatBuffer& buffer = plan.buffers[found->second];
    buffer.placements.push_back({.parameter = i, .offset = buffer.elements, .elements = spec.elements()});
    buffer.elements += padded(spec.elements());
  }
  for (FlatBuffer& buffer : plan.buffers) cut_into_buckets(buffer, ranks, bucket_bytes);
  return plan;
}

std::vector<ParameterRun> runs_within(const FlatBuffer& buffer, std::size_t begin, std::size_t end) {
  std::vector<ParameterRun> runs;
  for (const Placement& place : buffer.placements) {
    const std::size_t from = std::max(begin, place.offset);
    const std::size_t to = std::min(end, place.offset + place.elements);
    if (from < to)
      runs.push_back({.parameter = place.parameter,
                      .parameter_offset = from - place.offset,
                      .buffer_offset = from,
                      .length = to - from});
  }
  return runs;
}

std::vector<Block> blocks_within(const FlatBuffer& buffer, std::size_t begin, std::size_t end) {
  std::vector<Block> blocks;
  for (const ParameterRun& run : runs_within(buffer, begin, end)) {
    if (run.parameter_offset % block_elements != 0)
      throw ContractError("a slice begins inside a block; slices must be cut at block borders");
    for (std::size_t at = 0; at < run.length; at += block_elements)
      blocks.push_back(
          {.offset = run.buffer_offset + at, .elements = std::min(block_elements, run.length - at)});
  }
  return blocks;
}

}  // namespace lockstep::learner
