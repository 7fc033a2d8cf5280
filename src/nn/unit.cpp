#include "lockstep/nn/unit.hpp"

#include "lockstep/nn/hand_node.hpp"

namespace lockstep::nn {
namespace {

// The identity whose backward tells the gate that a pass begins or ends.
class GateNode : public HandNode {
 public:
  enum class Side { output, output_without_input, input };
  GateNode(std::shared_ptr<UnitGate> gate, Side side) : gate_(std::move(gate)), side_(side) {}
  std::string name() const override { return "UnitGateBackward"; }

 protected:
  torch::autograd::variable_list backward(const torch::autograd::variable_list& gradients) override {
    if (side_ == Side::input)
      gate_->after_backward();
    else
      gate_->before_backward(side_ == Side::output);
    return {gradients[0]};
  }
  void release() override {}

 private:
  std::shared_ptr<UnitGate> gate_;
  Side side_;
};

at::Tensor through(const std::shared_ptr<UnitGate>& gate, GateNode::Side side, const at::Tensor& tensor) {
  const at::Tensor same = tensor.detach();
  record(c10::make_intrusive<GateNode>(gate, side), {same}, tensor);
  return same;
}

}  // namespace

bool Unit::wants_gradient(const at::Tensor& input) {
  return wants_graph(input);
}

at::Tensor Unit::enter(const std::shared_ptr<UnitGate>& gate, const at::Tensor& input) {
  return through(gate, GateNode::Side::input, input);
}

at::Tensor Unit::leave(const std::shared_ptr<UnitGate>& gate, const at::Tensor& output, bool with_input) {
  if (!wants_graph(output)) return output;
  return through(gate, with_input ? GateNode::Side::output : GateNode::Side::output_without_input, output);
}

}  // namespace lockstep::nn
