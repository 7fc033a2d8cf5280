// Initial values keyed by (seed, parameter name), never by rank or order.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace lockstep::nn {

// Fills a [rows, cols] weight with an orthogonal matrix times `gain` (QR of Philox normals in float64, signs
// fixed by R's diagonal, as torch.nn.init.orthogonal_; Saxe et al. 2014).
void orthogonal_(const at::Tensor& weight, double gain, std::uint64_t seed, const std::string& name);

}  // namespace lockstep::nn
