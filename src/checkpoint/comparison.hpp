// What is wanted against what a file holds: names, dtypes, shapes.
#pragma once

#include <string>
#include <vector>

#include "lockstep/checkpoint/dataset_info.hpp"
#include "lockstep/data/state_view.hpp"

namespace lockstep::checkpoint {

class Comparison {
 public:
  Comparison(const std::vector<const StateEntry*>& wanted, const std::vector<const DatasetInfo*>& stored);

  bool equal() const noexcept;
  // All problems in one text, up to five of each kind.
  std::string report(const std::string& path) const;

 private:
  std::vector<std::string> missing_;
  std::vector<std::string> unexpected_;
  std::vector<std::string> other_dtype_;
  std::vector<std::string> other_shape_;
};

}  // namespace lockstep::checkpoint
