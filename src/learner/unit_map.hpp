// Which parameter belongs to which unit.
#pragma once

#include <torch/nn/module.h>

#include <cstddef>
#include <set>
#include <unordered_map>
#include <vector>

#include "lockstep/nn/unit.hpp"

namespace lockstep::learner {

// Unit 0 is what lies in no nn::Unit: it stays gathered for a whole leaf. A parameter belongs to the
// innermost unit around it; a tied one to the first.
class UnitMap {
 public:
  void add(torch::nn::Module& module) { visit(module, 0); }

  std::size_t units() const noexcept { return modules_.size(); }
  nn::Unit* module(std::size_t unit) const noexcept { return modules_[unit]; }  // null for unit 0
  // The unit itself, and those that hold parameters tied into it.
  const std::set<std::size_t>& needs(std::size_t unit) const noexcept { return needs_[unit]; }
  std::size_t unit_of(const at::Tensor& parameter) const;  // 0 for an unknown one

 private:
  void visit(torch::nn::Module& module, std::size_t unit);

  std::vector<nn::Unit*> modules_{nullptr};
  std::vector<std::set<std::size_t>> needs_{{0}};
  std::unordered_map<const void*, std::size_t> unit_of_parameter_, unit_of_module_;
};

}  // namespace lockstep::learner
