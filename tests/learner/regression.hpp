// A small regression problem for learner tests: a network of two layers with odd sizes, and a loss that is a
// sum over rows divided by the global row count.
#pragma once

#include <ATen/ops/linear.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <vector>

#include "lockstep/core/random.hpp"
#include "lockstep/losses/loss.hpp"

namespace lockstep::test {

// Deterministic values in [-1, 1), keyed by `shard`.
inline at::Tensor values(std::vector<std::int64_t> shape, std::uint32_t shard,
                         at::ScalarType type = at::kFloat) {
  RandomStream stream(7, StreamId::test, shard);
  at::Tensor tensor = at::zeros(shape, at::kDouble);
  double* out = tensor.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) out[i] = stream.uniform(-1, 1);
  return tensor.to(type);
}

// 4 -> hidden -> 1 with tanh; parameters weight0, bias0, weight1, bias1, and whatever a test registers
// besides.
struct Net : torch::nn::Module {
  explicit Net(std::int64_t hidden = 37, at::ScalarType type = at::kFloat) {
    w0 = register_parameter("weight0", values({hidden, 4}, 1, type));
    b0 = register_parameter("bias0", values({hidden}, 2, type));
    w1 = register_parameter("weight1", values({1, hidden}, 3, type));
    b1 = register_parameter("bias1", values({1}, 4, type));
  }
  at::Tensor forward(const at::Tensor& x) { return at::linear(at::tanh(at::linear(x, w0, b0)), w1, b1); }
  at::Tensor w0, b0, w1, b1;
};

// loss_mse: sum over rows of (net(x) - y)^2 / global rows.
struct RegressionLoss : losses::Loss {
  explicit RegressionLoss(std::shared_ptr<Net> network) : net(std::move(network)) {}
  torch::nn::Module& module() override { return *net; }
  void add_totals(const Batch& leaf, losses::Totals& totals) const override {
    totals["rows"].add(static_cast<double>(leaf.rows()));
  }
  losses::Outputs forward(const Batch& leaf, const losses::Totals& totals) override {
    const at::Tensor error = net->forward(leaf.at("x")) - leaf.at("y");
    return {{"loss_mse", (error * error).sum() / totals.at("rows").value()},
            {"absolute_error", error.detach().abs().sum()},
            {"max_error", error.numel() > 0 ? error.detach().abs().max() : at::zeros({})}};
  }
  losses::Metrics finish(const std::map<std::string, double>& sums,
                         const losses::Totals& totals) const override {
    return {{"loss_mse", sums.at("loss_mse")},
            {"absolute_error", sums.at("absolute_error") / totals.at("rows").value()},
            {"max_error", sums.at("max_error")}};
  }
  std::shared_ptr<Net> net;
};

// A shard's rows of one step, keyed by (step, shard): the same whoever owns the shard.
inline Batch regression_shard(std::int64_t step, std::int64_t shard, std::int64_t rows,
                              at::ScalarType type = at::kFloat) {
  Batch batch;
  const auto base = static_cast<std::uint32_t>(1000 + 100 * step + shard);
  batch.add("x", values({rows, 4}, base, type));
  batch.add("y", values({rows, 1}, base + 50000, type));
  return batch;
}

}  // namespace lockstep::test
