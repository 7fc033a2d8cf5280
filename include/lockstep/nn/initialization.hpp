// Initial values keyed by (seed, parameter name), never by rank or order.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "lockstep/nn/mlp.hpp"

namespace lockstep::nn {

// Fills a [rows, cols] weight with an orthogonal matrix times `gain` (QR of Philox normals in float64, signs
// fixed by R's diagonal, as torch.nn.init.orthogonal_; Saxe et al. 2014).
void orthogonal_(const at::Tensor& weight, double gain, std::uint64_t seed, const std::string& name);

// Fills every layer of `mlp` with U(-1/sqrt(inputs), 1/sqrt(inputs)) of the layer's inputs, weights and
// biases (LeCun et al., "Efficient BackProp", 1998; torch.nn.Linear's default), each parameter keyed by
// `prefix`.<name>.
void fan_in_uniform_(Mlp& mlp, std::uint64_t seed, const std::string& prefix);

}  // namespace lockstep::nn
