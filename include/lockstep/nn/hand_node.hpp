// HandNode: an autograd node whose backward is written by hand. It computes first derivatives only, once.
#pragma once

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>

namespace lockstep::nn {

class HandNode : public torch::autograd::Node {
 public:
  // ContractError when a graph of the gradient itself is asked for (create_graph), or when this node's saved
  // tensors were freed by an earlier backward.
  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) final;
  void release_variables() final;

 protected:
  // Gradients of the inputs, in their order, from those of the outputs (undefined: zero). Below autograd.
  virtual torch::autograd::variable_list backward(const torch::autograd::variable_list& gradients) = 0;
  virtual void release() = 0;
  bool needed(std::size_t input) const { return task_should_compute_output(input); }

 private:
  bool released_ = false;
};

// Whether autograd is on and any of the tensors asks for a gradient.
template <class... Tensors>
bool wants_graph(const Tensors&... tensors) {
  return torch::autograd::compute_requires_grad(tensors...);
}

// Makes `node` the history of `outputs`, with edges to `inputs` (tensors or vectors of tensors, in backward's
// order).
template <class Node, class... Inputs>
void record(c10::intrusive_ptr<Node> node, std::initializer_list<at::Tensor> outputs,
            const Inputs&... inputs) {
  node->set_next_edges(torch::autograd::collect_next_edges(inputs...));
  for (const at::Tensor& output : outputs) torch::autograd::set_history(output, node);
}

}  // namespace lockstep::nn
