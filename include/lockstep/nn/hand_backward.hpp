// Backward through graphs of hand-written nodes without autograd's engine, whose work per node is more than
// that of a small layer.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace lockstep::nn {

// Accumulates d (weight * sum of losses) / d parameter into the parameters' .grad and calls their hooks, as
// torch::autograd::backward does; the graph is freed. Losses are scalars; those without a graph count as
// constants. A graph of HandNodes and parameters in which every gradient has one origin, so that nothing is
// added up, runs here; any other runs in autograd's engine. The same bits either way.
void backward(const std::vector<at::Tensor>& losses, double weight = 1.0);

}  // namespace lockstep::nn
