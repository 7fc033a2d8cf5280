#include "lockstep/nn/hand_backward.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "lockstep/nn/hand_node.hpp"

namespace lockstep::nn {
namespace {

using torch::autograd::AccumulateGrad;
using torch::autograd::Edge;
using torch::autograd::Node;
using torch::autograd::variable_list;

bool has_hooks(Node& node) {
  return !node.pre_hooks().empty() || !node.post_hooks().empty() || !node.tensor_pre_hooks().empty() ||
         !node.retains_grad_hooks().empty();
}

class HandGraph {
 public:
  explicit HandGraph(const std::vector<Edge>& roots) {
    for (const Edge& root : roots) add(root);
  }
  // Whether this class may run it.
  bool plain() const { return plain_; }

  void run(const std::vector<Edge>& roots, const variable_list& gradients) {
    for (std::size_t i = 0; i < roots.size(); ++i) give(roots[i], gradients[i]);
    // A node that has given its gradients is not needed again: its tensors are freed at once.
    for (auto& [number, pending] : nodes_) {
      variable_list results = pending.node->apply(std::move(pending.gradients));
      for (std::size_t i = 0; i < results.size(); ++i)
        give(pending.node->next_edge(i), std::move(results[i]));
      pending.node->release_variables();
    }
  }

 private:
  struct Pending {
    HandNode* node;
    variable_list gradients;
  };

  void add(const Edge& edge) {
    if (!plain_ || !edge.is_valid()) return;
    Node* node = edge.function.get();
    plain_ = !has_hooks(*node) && fed_.emplace(node, edge.input_nr).second;
    if (dynamic_cast<AccumulateGrad*>(node) != nullptr) return;
    auto* by_hand = dynamic_cast<HandNode*>(node);
    plain_ = plain_ && by_hand != nullptr;
    if (!plain_ ||
        !nodes_.try_emplace(node->sequence_nr(), by_hand, variable_list(node->num_inputs())).second)
      return;
    for (const Edge& next : node->next_edges()) add(next);
  }

  void give(const Edge& edge, at::Tensor gradient) {
    if (!edge.is_valid() || !gradient.defined()) return;
    const auto found = nodes_.find(edge.function->sequence_nr());
    if (found != nodes_.end()) {
      found->second.gradients[edge.input_nr] = std::move(gradient);
    } else {
      variable_list alone;
      alone.push_back(
          std::move(gradient));  // its only holder, so that the parameter may keep it without a copy
      static_cast<AccumulateGrad&>(*edge.function).apply(std::move(alone));
    }
  }

  bool plain_ = true;
  std::set<std::pair<Node*, std::uint32_t>> fed_;
  // Latest first: a node was made after those that it gives gradients to.
  std::map<std::uint64_t, Pending, std::greater<>> nodes_;
};

}  // namespace

void backward(const std::vector<at::Tensor>& losses, double weight) {
  std::vector<at::Tensor> roots;
  std::vector<Edge> edges;
  variable_list gradients;
  for (const at::Tensor& loss : losses) {
    if (!loss.requires_grad()) continue;
    roots.push_back(loss);
    edges.push_back(torch::autograd::impl::gradient_edge(loss));
    gradients.push_back(at::full_like(loss, weight));
  }
  HandGraph graph(edges);
  if (!graph.plain()) return torch::autograd::backward(roots, gradients);
  const at::NoGradGuard first_derivatives;
  graph.run(edges, gradients);
}

}  // namespace lockstep::nn
