#include "mlp_node.hpp"

#include <ATen/ATen.h>

#include "layer.hpp"

namespace lockstep::nn {

std::vector<at::Tensor> chain_outputs(const Chain& chain, const at::Tensor& input) {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  std::vector<at::Tensor> outputs;
  outputs.reserve(chain.weights.size());
  for (std::size_t layer = 0; layer < chain.weights.size(); ++layer) {
    const at::Tensor& from = layer == 0 ? input : outputs.back();
    at::Tensor output = affine(from, chain.weights[layer], chain.biases[layer]);
    if (layer + 1 < chain.weights.size() || chain.activate_output) activate(output, chain.activation);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

MlpNode::MlpNode(const Chain& chain, const at::Tensor& input, const std::vector<at::Tensor>& outputs)
    : activation_(chain.activation),
      activate_output_(chain.activate_output),
      outputs_(chain.weights.back().size(0)),
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
  if (!gradients[0].defined()) return result;
  const at::Tensor input = input_.unpack();
  const bool input_needed = needed(0);
  const std::size_t lowest = input_needed ? 0 : lowest_needed_layer();
  at::Tensor gradient = gradients[0].contiguous().view({input.size(0), outputs_});
  if (activate_output_) {
    gradient = gradient.clone();  // others may hold it
    through_activation(gradient, output_.unpack(getptr()).view(gradient.sizes()), activation_);
  }
  for (std::size_t layer = layers; layer-- > lowest;) {
    const at::Tensor& from = layer == 0 ? input : hidden_[layer - 1];
    if (needed(1 + layer)) result[1 + layer] = transposed_product(gradient, from);
    if (needed(1 + layers + layer)) result[1 + layers + layer] = column_sums(gradient);
    if (layer > lowest || input_needed) gradient = product(gradient, weights_[layer].unpack());
    if (layer > lowest) through_activation(gradient, hidden_[layer - 1], activation_);
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
