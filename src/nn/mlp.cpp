#include "lockstep/nn/mlp.hpp"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include "lockstep/core/error.hpp"
#include "mlp_node.hpp"

namespace lockstep::nn {
namespace {

// One linear layer's parameters under the name that torch.nn.Sequential gives them.
class Layer : public torch::nn::Module {
 public:
  Layer(std::int64_t inputs, std::int64_t outputs)
      : weight(register_parameter("weight", at::zeros({outputs, inputs}))),
        bias(register_parameter("bias", at::zeros({outputs}))) {}
  at::Tensor weight, bias;
};

void require_input(const at::Tensor& input, const at::Tensor& weight) {
  if (input.dim() != 2 || input.size(1) != weight.size(1)) {
    throw ContractError(c10::str("an Mlp of ", weight.size(1), " inputs needs an input of shape [rows, ",
                                 weight.size(1), "], not ", input.sizes()));
  }
  if (input.scalar_type() != weight.scalar_type()) {
    throw ContractError(c10::str("an Mlp with ", weight.scalar_type(), " parameters was given an input of ",
                                 input.scalar_type()));
  }
}

}  // namespace

Activation activation_from(const std::string& name) {
  if (name == "tanh") return Activation::tanh;
  if (name == "relu") return Activation::relu;
  throw InputError("unknown activation '" + name + "'; known are tanh and relu");
}

Mlp::Mlp(const MlpOptions& options) : options_(options) {
  std::vector<std::int64_t> sizes{options.inputs};
  sizes.insert(sizes.end(), options.hidden.begin(), options.hidden.end());
  sizes.push_back(options.outputs);
  for (const std::int64_t size : sizes) {
    if (size < 1) throw ContractError(c10::str("layer sizes must be positive, not ", size));
  }
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    // Activations take the odd places in the sequence.
    const auto layer =
        register_module(std::to_string(2 * i), std::make_shared<Layer>(sizes[i], sizes[i + 1]));
    weights_.push_back(layer->weight);
    biases_.push_back(layer->bias);
  }
}

at::Tensor Mlp::forward(const at::Tensor& input) {
  return run(input, false);
}

at::Tensor Mlp::forward_column(const at::Tensor& input) {
  if (options_.outputs != 1) {
    throw ContractError(c10::str("forward_column needs an Mlp of one output, not ", options_.outputs));
  }
  return run(input, true);
}

at::Tensor Mlp::run(const at::Tensor& input, bool column) {
  require_input(input, weights_.front());
  return pass(input, [&](const at::Tensor& entered) { return run_layers(entered, column); });
}

at::Tensor Mlp::run_layers(const at::Tensor& input, bool column) {
  const Chain chain{weights_, biases_, options_.activation, options_.activate_output};
  std::vector<at::Tensor> outputs = chain_outputs(chain, input);
  if (column) outputs.back().squeeze_(1);  // before the graph: the node takes its gradient in either shape
  const at::Tensor& output = outputs.back();
  if (wants_graph(input, weights_, biases_)) {
    auto node = c10::make_intrusive<MlpNode>(chain, input, outputs);
    record(node, {output}, input, weights_, biases_);
    node->save_output(output);
  }
  return output;
}

}  // namespace lockstep::nn
