// An environment whose whole state is a fixed number of doubles.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "lockstep/core/error.hpp"
#include "lockstep/envs/environment.hpp"

namespace lockstep::envs {

template <std::size_t size>
class ArrayEnvironment : public Environment {
 public:
  void save(std::span<double> state) const override {
    check_size(state.size());
    std::copy(state_.begin(), state_.end(), state.begin());
  }

  void load(std::span<const double> state) override {
    check_size(state.size());
    std::copy(state.begin(), state.end(), state_.begin());
  }

 protected:
  std::array<double, size> state_{};

 private:
  void check_size(std::size_t given) const {
    if (given == size) return;
    throw ContractError(fmt::format("{}: a state of {} numbers; it has {}", spec().name, given, size));
  }
};

}  // namespace lockstep::envs
