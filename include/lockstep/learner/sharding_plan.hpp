// Where every element of every parameter lives: a pure function of names, shapes, dtypes, groups, bucket size
// and ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/core/dtype.hpp"

namespace lockstep::learner {

// Elements to which each parameter in a flat buffer is padded, and where its blocks begin: kernels then have
// no scalar tail.
inline constexpr std::size_t alignment_elements = 16;
// Largest block: the unit of slicing and of the norm's partial sums. Never spans two parameters.
inline constexpr std::size_t block_elements = 1024;

inline constexpr std::size_t frozen_group = static_cast<std::size_t>(-1);

struct ParameterSpec {
  std::string name;
  std::vector<std::int64_t> shape;
  Dtype dtype = Dtype::float32;
  std::size_t group = 0;  // frozen_group: in no group, sharded all the same
  std::size_t unit = 0;   // what is gathered at once; 0 where nothing is
  std::size_t elements() const noexcept;
};

// One parameter's place in its flat buffer.
struct Placement {
  std::size_t parameter = 0;  // index in the specs
  std::size_t offset = 0;     // first element in the flat buffer
  std::size_t elements = 0;   // without padding
};

// One collective's worth of a flat buffer, cut into a part a rank.
struct Bucket {
  std::size_t begin = 0, end = 0;  // elements of the flat buffer
  std::vector<std::size_t> cuts;   // ranks + 1 offsets relative to begin; parts are whole blocks
};

// All parameters of one (unit, group, dtype).
struct FlatBuffer {
  std::size_t unit = 0;
  std::size_t group = 0;
  Dtype dtype = Dtype::float32;
  std::size_t elements = 0;           // with padding
  std::vector<Placement> placements;  // ascending offset
  std::vector<Bucket> buckets;        // ascending, covering
};

struct Block {
  std::size_t offset = 0, elements = 0;  // in the flat buffer, padding excluded
};

struct ShardingPlan {
  std::size_t ranks = 1;
  std::vector<FlatBuffer> buffers;
  // Sum of padding over sum of elements.
  double padding_share() const noexcept;
};

// bucket_bytes bounds a bucket unless one parameter is larger.
ShardingPlan make_plan(const std::vector<ParameterSpec>& parameters, std::size_t ranks,
                       std::size_t bucket_bytes);

// A run of one parameter's elements inside [begin, end) of its flat buffer.
struct ParameterRun {
  std::size_t parameter = 0;
  std::size_t parameter_offset = 0;  // elements from the parameter's start
  std::size_t buffer_offset = 0;     // elements in the flat buffer
  std::size_t length = 0;
};
std::vector<ParameterRun> runs_within(const FlatBuffer& buffer, std::size_t begin, std::size_t end);
// The norm's blocks inside [begin, end), which must begin and end at block borders.
std::vector<Block> blocks_within(const FlatBuffer& buffer, std::size_t begin, std::size_t end);

}  // namespace lockstep::learner
