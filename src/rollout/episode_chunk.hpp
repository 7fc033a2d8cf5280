// A fixed number of evaluation episodes run side by side.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/envs/environment.hpp"
#include "lockstep/rollout/evaluation.hpp"

namespace lockstep::rollout {

class EpisodeChunk {
 public:
  // The policy's rows, always: a multiple of 16 (docs/design.md, section 1).
  static constexpr std::int64_t rows = 16;

  explicit EpisodeChunk(const std::string& environment);

  // Runs episodes [first, last), at most `rows` of them, greedily to their ends and appends their returns in
  // order. Rows beyond the last are zeros that nobody looks at. False when `stop` said so; then nothing is
  // appended.
  bool run(const GreedyPolicy& policy, std::int64_t first, std::int64_t last, std::uint64_t seed,
           const std::function<bool()>& stop, std::vector<double>& returns);

 private:
  void start(std::int64_t first, std::int64_t last, std::uint64_t seed);
  void step(const at::Tensor& action);
  void observe(std::int64_t row);

  const envs::EnvironmentSpec& spec_;
  std::vector<std::unique_ptr<envs::Environment>> environments_;
  at::Tensor observation_;             // [rows, o]
  std::vector<std::int64_t> running_;  // rows whose episode goes on
  std::vector<double> returns_;        // of every row
  std::int64_t elapsed_ = 0;
};

}  // namespace lockstep::rollout
