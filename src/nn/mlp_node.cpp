#include "mlp_node.hpp"

#include <ATen/ATen.h>

namespace lockstep::nn {
namespace {

void activate(const at::Tensor& values, Activation activation) {
  if (activation == Activation::tanh) {
    values.tanh_();
  } else {
    values.relu_();
  }
}

// From the activation's output, which both derivatives can be written in.
at::Tensor activation_backward(const at::Tensor& gradient, const at::Tensor& output, Activation activation) {
  return activation == Activation::tanh ? at::tanh_backward(gradient, output)
                                        : at::threshold_backward(gradient, output, 0);
}

}  // namespace

std::vector<at::Tensor> chain_outputs(const Chain& chain, const at::Tensor& input) {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  std::vector<at::Tensor> outputs;
  outputs.reserve(chain.weights.size());
  for (std::size_t layer = 0; layer < chain.weights.size(); ++layer) {
    const at::Tensor& weight = chain.weights[layer];
    const at::Tensor& from = layer == 0 ? input : outputs.back();
    // addmm.out, not linear: autocast leaves it alone, so the chain computes in its parameters' dtype.
    at::Tensor output = at::empty({input.size(0), weight.size(0)}, weight.options());
    at::addmm_out(output, chain.biases[layer], from, weight.t());
    if (layer + 1 < chain.weights.size() || chain.activate_output) activate(output, chain.activation);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

MlpNode::MlpNode(const Chain& chain, const at::Tensor& input, const std::vector<at::Tensor>& outputs)
    : activation_(chain.activation),
      activate_output_(chain.activate_output),
      input_(input, false),
      hidden_(outputs.begin(), outputs.end() - 1) {
  weights_.reserve(chain.weights.size());
  for (const at::Tensor& weight : chain.weights) weights_.emplace_back(weight, false);
}

void MlpNode::save_output(const at::Tensor& output) {
  if (activate_output_) output_ = torch::autograd::SavedVariable(output, true);
}

std::size_t MlpNode::lowest_needed_layer() const {
  const std::size_t layers = weights_.size();
  std::size_t layer = 0;
  while (layer < layers && !needed(1 + layer) && !needed(1 + layers + layer)) ++layer;
  return layer;
}

torch::autograd::variable_list MlpNode::backward(const torch::autograd::variable_list& gradients) {
  const std::size_t layers = weights_.size();
  torch::autograd::variable_list result(1 + 2 * layers);
  at::Tensor gradient = gradients[0];
  if (!gradient.defined()) return result;
  const at::Tensor input = input_.unpack();
  const bool input_needed = needed(0);
  const std::size_t lowest = input_needed ? 0 : lowest_needed_layer();
  for (std::size_t layer = layers; layer-- > lowest;) {
    if (layer + 1 < layers) {
      gradient = activation_backward(gradient, hidden_[layer], activation_);
    } else if (activate_output_) {
      gradient = activation_backward(gradient, output_.unpack(getptr()), activation_);
    }
    const at::Tensor& from = layer == 0 ? input : hidden_[layer - 1];
    if (needed(1 + layer)) result[1 + layer] = at::mm(gradient.t(), from);
    if (needed(1 + layers + layer)) result[1 + layers + layer] = gradient.sum(0);
    if (layer > lowest || input_needed) gradient = at::mm(gradient, weights_[layer].unpack());
  }
  if (input_needed) result[0] = std::move(gradient);
  return result;
}

void MlpNode::release() {
  for (auto& weight : weights_) weight.reset_data();
  input_.reset_data();
  output_.reset_data();
  hidden_.clear();
}

}  // namespace lockstep::nn
