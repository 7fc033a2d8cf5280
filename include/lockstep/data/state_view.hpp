// StateView: what checkpoints, weight sync and hashes speak. Names, dtypes, global shapes, and where this
// rank's part of each tensor lives. Owns nothing; no tensor library is needed to read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/core/dtype.hpp"

namespace lockstep {

// A contiguous run of a row-major flattened tensor, in this rank's live storage.
struct Extent {
  std::uint64_t offset = 0;  // elements from the tensor's start
  std::uint64_t length = 0;  // elements
  std::byte* data = nullptr;
};

struct StateEntry {
  std::string name;  // "model/actor.0.weight": '/' separates groups; '/' inside a part is escaped %2F
  Dtype dtype = Dtype::float32;
  std::vector<std::int64_t> shape;  // global; empty is a scalar
  std::vector<Extent> extents;      // this rank's, ascending, disjoint; may be empty
  std::uint64_t elements() const noexcept;
};

// The same names, dtypes and shapes in the same order on every rank; extents differ. Together the ranks'
// extents cover every tensor. Where several ranks hold an element they hold the same bits, and the lowest
// rank speaks.
struct StateView {
  std::vector<StateEntry> entries;

  // A tensor wholly on this rank (or, with here = false, on another).
  void add_whole(std::string name, Dtype dtype, std::vector<std::int64_t> shape, void* data,
                 bool here = true);
  void append(StateView other);
  const StateEntry* find(const std::string& name) const noexcept;
};

// "a/b" -> "a%2Fb", and '%' -> "%25"; for one part of a name.
std::string escape_name(const std::string& part);
std::string unescape_name(const std::string& part);

}  // namespace lockstep
