// The two networks that steps are timed on, in the shapes of performance figures published for other
// trainers.
#pragma once

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/losses/loss.hpp"

namespace lockstep::benchmark {

inline at::Tensor scaled_normal(std::vector<std::int64_t> shape) {
  return at::randn(shape) / std::sqrt(static_cast<double>(shape.back()));
}

// Bandwidth- and latency-bound: 376-1024-1024-17, relu.
struct MlpModel : torch::nn::Module {
  MlpModel() {
    const std::vector<std::int64_t> widths{376, 1024, 1024, 17};
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
      weights.push_back(
          register_parameter("weight" + std::to_string(i), scaled_normal({widths[i + 1], widths[i]})));
      biases.push_back(register_parameter("bias" + std::to_string(i), at::zeros({widths[i + 1]})));
    }
  }
  at::Tensor forward(at::Tensor x) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      x = at::linear(x, weights[i], biases[i]);
      if (i + 1 < weights.size()) x = at::relu(x);
    }
    return x;
  }
  std::vector<at::Tensor> weights, biases;
};

// Compute-bound: 8 blocks, width 384, 6 heads, 4,096 tokens; 17.3 million parameters.
struct GptModel : torch::nn::Module {
  static constexpr std::int64_t width = 384, heads = 6, blocks = 8, vocabulary = 4096;

  struct Block {
    at::Tensor norm1, norm2, qkv, out, up, down;
  };

  GptModel() {
    embedding = register_parameter("embedding", at::randn({vocabulary, width}));
    for (std::int64_t i = 0; i < blocks; ++i) {
      const std::string prefix = "block" + std::to_string(i) + "_";
      layers.push_back({register_parameter(prefix + "norm1", at::ones({width})),
                        register_parameter(prefix + "norm2", at::ones({width})),
                        register_parameter(prefix + "qkv", scaled_normal({3 * width, width})),
                        register_parameter(prefix + "out", scaled_normal({width, width})),
                        register_parameter(prefix + "up", scaled_normal({4 * width, width})),
                        register_parameter(prefix + "down", scaled_normal({width, 4 * width}))});
    }
    norm = register_parameter("norm", at::ones({width}));
    head = register_parameter("head", scaled_normal({vocabulary, width}));
  }

  // tokens [rows, t] -> logits [rows, t, vocabulary]
  at::Tensor forward(const at::Tensor& tokens) {
    at::Tensor x = at::embedding(embedding, tokens);
    const std::int64_t rows = x.size(0), length = x.size(1);
    for (const Block& layer : layers) {
      const at::Tensor mixed = at::linear(at::rms_norm(x, {width}, layer.norm1), layer.qkv);
      const auto qkv = mixed.view({rows, length, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
      const at::Tensor attended =
          at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], {}, 0.0, /*is_causal=*/true);
      x = x + at::linear(attended.transpose(1, 2).reshape({rows, length, width}), layer.out);
      x = x + at::linear(at::gelu(at::linear(at::rms_norm(x, {width}, layer.norm2), layer.up)), layer.down);
    }
    return at::linear(at::rms_norm(x, {width}, norm), head);
  }

  at::Tensor embedding, norm, head;
  std::vector<Block> layers;
};

// Mean squared error over all rows of the step.
struct MlpLoss : losses::Loss {
  explicit MlpLoss(std::shared_ptr<MlpModel> model) : net(std::move(model)) {}
  torch::nn::Module& module() override { return *net; }
  void add_totals(const Batch& leaf, losses::Totals& totals) const override {
    totals["elements"].add(static_cast<double>(leaf.at("y").numel()));
  }
  losses::Outputs forward(const Batch& leaf, const losses::Totals& totals) override {
    return {{"loss", at::mse_loss(net->forward(leaf.at("x")), leaf.at("y"), at::Reduction::Sum) /
                         totals.at("elements").value()}};
  }
  std::shared_ptr<MlpModel> net;
};

// Cross entropy of the next token over all tokens of the step.
struct GptLoss : losses::Loss {
  explicit GptLoss(std::shared_ptr<GptModel> model) : net(std::move(model)) {}
  torch::nn::Module& module() override { return *net; }
  void add_totals(const Batch& leaf, losses::Totals& totals) const override {
    totals["tokens"].add(static_cast<double>(leaf.rows() * (leaf.at("tokens").size(1) - 1)));
  }
  losses::Outputs forward(const Batch& leaf, const losses::Totals& totals) override {
    const at::Tensor& tokens = leaf.at("tokens");
    const at::Tensor logits = net->forward(tokens.slice(1, 0, -1)).flatten(0, 1);
    return {{"loss", at::cross_entropy_loss(logits, tokens.slice(1, 1).flatten(), {}, at::Reduction::Sum) /
                         totals.at("tokens").value()}};
  }
  std::shared_ptr<GptModel> net;
};

}  // namespace lockstep::benchmark
