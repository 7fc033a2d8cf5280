// A module whose parameters may be elsewhere between uses: sharded training brings them just before its
// forward and backward, and lets them go afterwards (as FSDP2's fully_shard does; Zhao et al., "PyTorch
// FSDP", 2023).
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <utility>
#include <vector>

namespace lockstep::nn {

// Told when a unit's parameters are needed. A pass is one call of the unit's forward with a graph.
class UnitGate {
 public:
  virtual ~UnitGate() = default;
  virtual void before_forward() = 0;
  virtual void after_forward() noexcept = 0;
  // Backward reached the output of a pass, and then its input; the second only where the input wants a
  // gradient
  // (`with_input`).
  virtual void before_backward(bool with_input) = 0;
  virtual void after_backward() = 0;
};

// Base beside torch::nn::Module of modules that can be units. Its forward goes through `pass`; a parameter
// may not be touched outside. Nested units and several passes of one unit in one forward are fine.
class Unit {
 public:
  void set_gate(std::shared_ptr<UnitGate> gate) noexcept { gate_ = std::move(gate); }
  // Parameters of the module itself that are used outside its passes: they stay with the unit around it.
  virtual std::vector<at::Tensor> used_outside() const { return {}; }

 protected:
  Unit() = default;
  virtual ~Unit() = default;

  // body(input), with the parameters in place. Without a gate it is just that.
  template <class Body>
  at::Tensor pass(const at::Tensor& input, Body&& body) {
    if (!gate_) return body(input);
    const Forward forward(*gate_);
    const bool with_input = wants_gradient(input);
    const at::Tensor entered = with_input ? enter(gate_, input) : input;
    return leave(gate_, body(entered), with_input);
  }

 private:
  struct Forward {
    explicit Forward(UnitGate& gate) : gate(gate) { gate.before_forward(); }
    ~Forward() { gate.after_forward(); }
    Forward(const Forward&) = delete;
    Forward& operator=(const Forward&) = delete;
    UnitGate& gate;
  };
  static bool wants_gradient(const at::Tensor& input);
  static at::Tensor enter(const std::shared_ptr<UnitGate>& gate, const at::Tensor& input);
  static at::Tensor leave(const std::shared_ptr<UnitGate>& gate, const at::Tensor& output, bool with_input);

  std::shared_ptr<UnitGate> gate_;
};

}  // namespace lockstep::nn
