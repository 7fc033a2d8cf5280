// The chain of linear layers and activations of an Mlp: forward values, and the node of its backward.
#pragma once

#include <torch/csrc/autograd/saved_variable.h>

#include <vector>

#include "lockstep/nn/hand_node.hpp"
#include "lockstep/nn/mlp.hpp"

namespace lockstep::nn {

struct Chain {
  const std::vector<at::Tensor>& weights;  // (out, in) a layer
  const std::vector<at::Tensor>& biases;   // (out)
  Activation activation;
  bool activate_output;
};

// Every layer's output after its activation. No graph.
std::vector<at::Tensor> chain_outputs(const Chain& chain, const at::Tensor& input);

// Edges: the input, the weights, the biases.
class MlpNode : public HandNode {
 public:
  // The last of `outputs` is the node's own output.
  MlpNode(const Chain& chain, const at::Tensor& input, const std::vector<at::Tensor>& outputs);
  // Call after the history is recorded: only then may the output be saved.
  void save_output(const at::Tensor& output);
  std::string name() const override { return "MlpBackward"; }

 protected:
  torch::autograd::variable_list backward(const torch::autograd::variable_list& gradients) override;
  void release() override;

 private:
  std::size_t lowest_needed_layer() const;

  Activation activation_;
  bool activate_output_;
  std::int64_t outputs_;
  std::vector<torch::autograd::SavedVariable> weights_;
  torch::autograd::SavedVariable input_, output_;
  std::vector<at::Tensor> hidden_;  // seen by nobody else, so no version to check
};

}  // namespace lockstep::nn
