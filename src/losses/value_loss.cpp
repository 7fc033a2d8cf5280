#include "lockstep/losses/value_loss.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "lockstep/nn/hand_node.hpp"
#include "scalar.hpp"

namespace lockstep::losses {
namespace {

struct Sums {
  double loss = 0, target = 0, target_squared = 0, residual = 0, residual_squared = 0, clipped = 0;
};

// A distance and its derivative by the value.
struct Term {
  double value, slope;
};

double sign(double x) {
  return static_cast<double>(x > 0) - static_cast<double>(x < 0);
}

Term distance_term(Distance kind, double value, double target) {
  const double d = value - target;
  if (kind == Distance::l2) return {d * d, 2 * d};
  const double size = std::abs(d);
  if (kind == Distance::l1) return {size, sign(d)};
  return size < 1 ? Term{0.5 * d * d, d} : Term{size - 0.5, std::isnan(d) ? d : sign(d)};
}

// The larger of the plain and the clipped distance; where they are equal each counts half, as in at::maximum.
Term clipped_distance(Distance kind, double value, double target, double old_value, double clip) {
  const double move = value - old_value;
  Term plain = distance_term(kind, value, target);
  Term clipped = distance_term(kind, old_value + std::clamp(move, -clip, clip), target);
  if (std::abs(move) > clip) clipped.slope = 0;
  if (plain.value == clipped.value) return {plain.value, 0.5 * (plain.slope + clipped.slope)};
  return plain.value > clipped.value ? plain : clipped;
}

class ValueLossNode : public nn::HandNode {
 public:
  explicit ValueLossNode(at::Tensor slope) : slope_(std::move(slope)) {}
  std::string name() const override { return "ValueLossBackward"; }

 protected:
  torch::autograd::variable_list backward(const torch::autograd::variable_list& gradients) override {
    if (!gradients[0].defined()) return {at::Tensor()};
    return {slope_ * gradients[0]};
  }
  void release() override { slope_.reset(); }

 private:
  at::Tensor slope_;  // of loss_critic by value, [rows]
};

// Fills `slope` (of loss_critic by value).
template <class Scalar>
Sums sum_rows(const ValueInputs& in, const ValueSettings& s, const at::Tensor& slope) {
  const auto* value = in.value.const_data_ptr<Scalar>();
  const auto* target = in.target.const_data_ptr<Scalar>();
  const auto* old_value = s.clip ? in.old_value.const_data_ptr<Scalar>() : nullptr;
  auto* out = slope.data_ptr<Scalar>();
  Sums sums;
  for (std::int64_t i = 0; i < slope.numel(); ++i) {
    const double v = value[i], goal = target[i];
    const Term term = s.clip ? clipped_distance(s.distance, v, goal, old_value[i], *s.clip)
                             : distance_term(s.distance, v, goal);
    out[i] = static_cast<Scalar>(s.coefficient * term.slope / s.rows);
    const double shifted = goal - s.target_mean, residual = goal - v;
    sums.loss += term.value;
    sums.target += shifted;
    sums.target_squared += shifted * shifted;
    sums.residual += residual;
    sums.residual_squared += residual * residual;
    sums.clipped += s.clip && std::abs(v - old_value[i]) > *s.clip ? 1 : 0;
  }
  return sums;
}

double per_row(const ValueSettings& s) {
  return s.rows > 0 ? s.coefficient / s.rows : 0.0;
}

}  // namespace

Outputs value_loss(const ValueInputs& in, const ValueSettings& s) {
  if (!all_dense(in.value, in.target, s.clip ? in.old_value : in.target)) return value_loss_composed(in, s);
  const at::ScalarType type = in.value.scalar_type();
  const at::Tensor slope = at::empty(in.value.sizes(), in.value.options());
  const Sums sums = type == at::kFloat ? sum_rows<float>(in, s, slope) : sum_rows<double>(in, s, slope);
  const at::Tensor loss = scalar(sums.loss * per_row(s), type);
  if (nn::wants_graph(in.value)) nn::record(c10::make_intrusive<ValueLossNode>(slope), {loss}, in.value);
  Outputs outputs{{"loss_critic", loss},
                  {"target", scalar(sums.target)},
                  {"target_squared", scalar(sums.target_squared)},
                  {"residual", scalar(sums.residual)},
                  {"residual_squared", scalar(sums.residual_squared)}};
  if (s.clip) outputs.emplace_back("value_clipped", scalar(sums.clipped));
  return outputs;
}

Outputs value_loss_composed(const ValueInputs& in, const ValueSettings& s) {
  at::Tensor distances = distance(s.distance, in.value, in.target);
  if (s.clip) {
    const at::Tensor clipped = in.old_value + (in.value - in.old_value).clamp(-*s.clip, *s.clip);
    distances = at::maximum(distances, distance(s.distance, clipped, in.target));
  }
  const at::Tensor goal = in.target.detach().to(at::kDouble), value = in.value.detach().to(at::kDouble);
  const at::Tensor shifted = goal - s.target_mean, residual = goal - value;
  Outputs outputs{{"loss_critic", distances.sum() * per_row(s)},
                  {"target", shifted.sum()},
                  {"target_squared", shifted.square().sum()},
                  {"residual", residual.sum()},
                  {"residual_squared", residual.square().sum()}};
  if (s.clip) {
    const at::Tensor move = value - in.old_value.detach().to(at::kDouble);
    outputs.emplace_back("value_clipped", (move.abs() > *s.clip).sum().to(at::kDouble));
  }
  return outputs;
}

}  // namespace lockstep::losses
