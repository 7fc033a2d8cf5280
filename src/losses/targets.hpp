// Target networks: frozen copies that follow the trained ones.
#pragma once

#include <torch/nn/module.h>

#include <memory>

#include "lockstep/losses/loss.hpp"

namespace lockstep::losses {

// Every parameter of `target` takes the value of `source`'s of the same name; both are of one class and
// options.
void copy_parameters(const torch::nn::Module& target, const torch::nn::Module& source);

// Appends (target, source) for every parameter.
void add_pairs(const torch::nn::Module& target, const torch::nn::Module& source, TargetUpdate& update);

// Freezes `target`, and copies.
void become_target(torch::nn::Module& target, const torch::nn::Module& source, at::ScalarType type);

// A target of the same options, dtype and values as `source`.
template <class Network>
std::shared_ptr<Network> target_of(const Network& source) {
  auto target = std::make_shared<Network>(source.options());
  become_target(*target, source, source.dtype());
  return target;
}

// ContractError unless tau is in (0, 1], every >= 1 and gamma in [0, 1].
void require_target_options(double gamma, double tau, std::int64_t every);

}  // namespace lockstep::losses
