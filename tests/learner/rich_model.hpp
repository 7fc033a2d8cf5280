// A model and a loss with everything that sharding can trip over: units, one of them called twice, a tied, a
// frozen, an empty and a scalar parameter, odd sizes, a vector that the loss owns, a target, noise, row
// outputs.
#pragma once

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "learner/regression.hpp"
#include "lockstep/losses/loss.hpp"
#include "lockstep/nn/unit.hpp"

namespace lockstep::test {

struct Layer : torch::nn::Module, nn::Unit {
  Layer(std::int64_t inputs, std::int64_t outputs, std::uint32_t key)
      : weight(register_parameter("weight", values({outputs, inputs}, key))),
        bias(register_parameter("bias", values({outputs}, key + 1))) {}
  at::Tensor forward(const at::Tensor& input) {
    return pass(input, [this](const at::Tensor& x) { return at::tanh(at::linear(x, weight, bias)); });
  }
  at::Tensor weight, bias;
};

// The output layer, whose gain is the root's.
struct Head : torch::nn::Module, nn::Unit {
  Head(std::int64_t inputs, const at::Tensor& gain) {
    weight = register_parameter("weight", values({1, inputs}, 30));
    offset = register_parameter("offset", values({1}, 31), /*requires_grad=*/false);
    tied = register_parameter("gain", gain);
  }
  at::Tensor forward(const at::Tensor& input) {
    return pass(input, [this](const at::Tensor& x) { return at::linear(x, weight) * tied + offset; });
  }
  at::Tensor weight, offset, tied;
};

struct Rich : torch::nn::Module {
  explicit Rich(std::int64_t hidden = 37) {
    gain = register_parameter("gain", at::ones({}));
    nothing = register_parameter("nothing", at::zeros({0}));
    first = register_module("first", std::make_shared<Layer>(4, hidden, 10));
    twice = register_module("twice", std::make_shared<Layer>(hidden, hidden, 20));
    head = register_module("head", std::make_shared<Head>(hidden, gain));
  }
  at::Tensor forward(const at::Tensor& x) {
    return head->forward(twice->forward(twice->forward(first->forward(x)))) + gain * 0.1 + nothing.sum();
  }
  at::Tensor gain, nothing;
  std::shared_ptr<Layer> first, twice;
  std::shared_ptr<Head> head;
};

// What the loss owns: its model, a vector of temperatures, a target of the first layer.
struct RichState : torch::nn::Module {
  explicit RichState(std::shared_ptr<Rich> net_) : net(register_module("net", std::move(net_))) {
    temperature = register_parameter("temperature", values({3}, 40));
    target = register_module("target", std::make_shared<Layer>(4, net->first->weight.size(0), 10));
    for (at::Tensor& parameter : target->parameters()) parameter.set_requires_grad(false);
  }
  std::shared_ptr<Rich> net;
  at::Tensor temperature;
  std::shared_ptr<Layer> target;
};

struct RichLoss : losses::Loss {
  explicit RichLoss(std::shared_ptr<Rich> net) : state(std::make_shared<RichState>(std::move(net))) {}
  torch::nn::Module& module() override { return *state; }
  void add_totals(const Batch& leaf, losses::Totals& totals) const override {
    totals["rows"].add(static_cast<double>(leaf.rows()));
  }
  losses::Outputs forward(const Batch& leaf, const losses::Totals& totals) override {
    const double rows = totals.at("rows").value();
    const at::Tensor x = leaf.at("x");
    at::Tensor goal = leaf.at("y");
    {
      const at::NoGradGuard no_gradient;
      goal = goal + state->target->forward(x).sum(1, true) * 0.01 + leaf.at("noise") * 0.1;
    }
    if (trains_target) goal = goal + state->target->forward(x).sum(1, true);
    if (fails) throw std::runtime_error("the loss fails");
    const at::Tensor error = state->net->forward(x) - goal;
    at::Tensor cooling = at::zeros({});
    if (temperature_due) cooling = (state->temperature.exp() * error.detach().abs().sum()).sum() / rows;
    // A finite loss whose gradient is not: the root of a zero.
    at::Tensor poison = at::zeros({});
    if (poisons_gain) poison = (state->net->gain - state->net->gain.detach()).abs().sqrt();
    return {{"loss_main", error.square().sum() / rows + poison},
            {"loss_temperature", cooling},
            {"row_error", error.detach().squeeze(1)}};
  }
  losses::TargetUpdate target_update() override {
    return {.pairs = {{state->target->weight, state->net->first->weight},
                      {state->target->bias, state->net->first->bias}},
            .tau = 0.25,
            .every = 2};
  }
  std::vector<losses::NoiseEntry> noise() const override { return {{"noise", 1, at::kFloat}}; }
  std::vector<std::string> loss_names() const override { return {"loss_main", "loss_temperature"}; }
  void set_due(const std::vector<std::string>& names) override {
    temperature_due = std::ranges::find(names, "loss_temperature") != names.end();
  }
  std::shared_ptr<RichState> state;
  bool temperature_due = true;
  bool trains_target = false, fails = false, poisons_gain = false;  // for tests of what goes wrong
};

}  // namespace lockstep::test
