// Merges the named outputs of leaves: sums exactly, maxima ("max_...") as maxima; row outputs ("row_...") are
// kept as they are.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lockstep/core/exact_sum.hpp"
#include "lockstep/losses/loss.hpp"
#include "step_message.hpp"

namespace lockstep::learner {

class LeafOutputs {
 public:
  // ContractError when the names differ from the first leaf's, or an output is no 0-d tensor (a row
  // output: no [rows] tensor).
  void add(const losses::Outputs& outputs);
  // All values take part in the message; after its exchange `values` are global.
  void join(StepMessage& message);
  std::map<std::string, double> values() const;
  bool losses_finite() const;
  // Row outputs by shard, each in the order of its leaves' rows, for leaves that came shard after shard.
  std::vector<std::map<std::string, at::Tensor>> rows(std::size_t shards) const;

 private:
  std::vector<std::string> names_;
  std::vector<ExactSum> sums_;
  std::vector<double> maxima_;                           // of the names that start with max_, in order
  std::map<std::string, std::vector<at::Tensor>> rows_;  // by name, a tensor a leaf
};

// The outputs whose name starts with "loss", to differentiate. ContractError naming the keys found when there
// is none, or key and shape when one is no scalar.
std::vector<at::Tensor> losses_of(const losses::Outputs& outputs);

}  // namespace lockstep::learner
