// Random transitions, networks and comparisons for the tests of off-policy losses.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lockstep/core/random.hpp"
#include "lockstep/data/batch.hpp"
#include "step.hpp"

namespace lockstep::losses {

inline at::Tensor normals(at::IntArrayRef shape, std::uint32_t shard) {
  at::Tensor values = at::empty(shape, at::kDouble);
  RandomStream stream(17, StreamId::test, shard);
  stream.fill_normal({values.data_ptr<double>(), static_cast<std::size_t>(values.numel())});
  return values;
}

// Every third row terminates.
inline Batch transitions(std::int64_t rows, std::int64_t observation_size) {
  Batch batch;
  batch.add(key::observation, normals({rows, observation_size}, 1));
  batch.add(key::next_observation, normals({rows, observation_size}, 2));
  batch.add(key::reward, normals({rows}, 3));
  batch.add(key::terminated, at::arange(rows).remainder(3) == 0);
  return batch;
}

inline void add_continuous(Batch& batch, std::int64_t actions) {
  const std::int64_t rows = batch.rows();
  batch.add(key::action, normals({rows, actions}, 4).tanh());
  batch.add(key::noise_next, normals({rows, actions}, 5));
  batch.add(key::noise_current, normals({rows, actions}, 6));
}

inline at::Tensor output(const Outputs& outputs, const std::string& name) {
  for (const auto& [found, value] : outputs) {
    if (found == name) return value;
  }
  ADD_FAILURE() << "no output " << name;
  return {};
}

inline Totals totals_of(const Loss& loss, const std::vector<Batch>& leaves) {
  Totals totals;
  for (const Batch& leaf : leaves) loss.add_totals(leaf, totals);
  return totals;
}

// Losses, metrics, row outputs and gradients do not depend on how the rows are cut into leaves.
inline void expect_same_however_cut(Loss& loss, const Batch& batch) {
  std::vector<at::Tensor> gradients;
  Step whole;
  for (const auto& leaves : cuts(batch)) {
    const Step step = run_step(loss, leaves);
    if (leaves.size() == 1) whole = step;
    for (const auto& [name, value] : whole.metrics) EXPECT_NEAR(step.metrics.at(name), value, 1e-12) << name;
    for (const auto& [name, rows] : whole.rows) {
      EXPECT_TRUE(at::allclose(step.rows.at(name), rows, 1e-12, 1e-12)) << name;
    }
    std::size_t next = 0;
    for (const auto& item : loss.module().named_parameters()) {
      const at::Tensor gradient = item.value().grad();
      if (!gradient.defined()) continue;
      if (leaves.size() == 1) gradients.push_back(gradient.clone());
      EXPECT_TRUE(at::allclose(gradient, gradients.at(next++), 1e-12, 1e-12)) << item.key();
    }
    EXPECT_EQ(next, gradients.size());
  }
}

// The update's pairs are every frozen parameter and the trained one of the same place; a target that has
// followed is t + tau (s - t).
inline void expect_targets_follow(Loss& loss, std::size_t count, double tau, std::int64_t every) {
  const TargetUpdate update = loss.target_update();
  EXPECT_EQ(update.tau, tau);
  EXPECT_EQ(update.every, every);
  ASSERT_EQ(update.pairs.size(), count);
  std::size_t frozen = 0;
  for (const auto& item : loss.module().named_parameters()) frozen += item.value().requires_grad() ? 0 : 1;
  EXPECT_EQ(frozen, count);
  const at::NoGradGuard no_grad;
  for (const auto& [target, source] : update.pairs) {
    EXPECT_FALSE(target.requires_grad());
    EXPECT_TRUE(source.requires_grad());
    EXPECT_TRUE(at::equal(target, source)) << "a target starts as a copy";
    EXPECT_FALSE(target.is_alias_of(source));
    source.add_(1);
    const at::Tensor before = target.clone();
    target.lerp_(source, tau);
    EXPECT_TRUE(at::allclose(target, before + tau * (source - before), 0, 1e-14));
  }
}

}  // namespace lockstep::losses
