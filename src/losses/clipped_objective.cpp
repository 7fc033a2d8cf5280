#include "lockstep/losses/clipped_objective.hpp"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

#include <algorithm>
#include <cmath>

#include "lockstep/nn/hand_node.hpp"
#include "scalar.hpp"

namespace lockstep::losses {
namespace {

struct Sums {
  double gain = 0, clipped = 0, log_ratio = 0, ratio = 0, ratio_squared = 0, max_ratio = 0, entropy = 0;
};

// Of one row: the objective before its sign and division, and its derivative by w.
struct Gain {
  double value, slope;
};

class Clip {
 public:
  explicit Clip(const ObjectiveSettings& s) : low_(std::log1p(-s.clip_low)), high_(std::log1p(s.clip_high)) {}
  bool outside(double w) const { return w < low_ || w > high_; }
  Gain gain(double w, double ratio, double advantage) const {
    const double plain = ratio * advantage;
    if (!outside(w)) return {plain, plain};
    const double clipped = std::exp(w < low_ ? low_ : high_) * advantage;
    return clipped < plain ? Gain{clipped, 0.0} : Gain{plain, plain};
  }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  double low_, high_;
};

// Edges: log_prob, entropy.
class ClippedObjectiveNode : public nn::HandNode {
 public:
  ClippedObjectiveNode(at::Tensor slope, double entropy_slope)
      : slope_(std::move(slope)), entropy_slope_(entropy_slope) {}
  std::string name() const override { return "ClippedObjectiveBackward"; }

 protected:
  torch::autograd::variable_list backward(const torch::autograd::variable_list& gradients) override {
    torch::autograd::variable_list result(2);
    if (gradients[0].defined() && needed(0)) result[0] = slope_ * gradients[0];
    if (gradients[1].defined() && needed(1) && entropy_slope_ != 0) {
      result[1] = (gradients[1] * entropy_slope_).expand(slope_.sizes());
    }
    return result;
  }
  void release() override { slope_.reset(); }

 private:
  at::Tensor slope_;      // of loss_objective by log_prob, [rows]
  double entropy_slope_;  // of loss_entropy by entropy, the same in every row
};

// Fills `slope` (of loss_objective by log_prob).
template <class Scalar>
Sums sum_rows(const ObjectiveInputs& in, const ObjectiveSettings& s, const at::Tensor& slope) {
  const auto* log_prob = in.log_prob.const_data_ptr<Scalar>();
  const auto* old_log_prob = in.old_log_prob.const_data_ptr<Scalar>();
  const auto* advantage = in.advantage.const_data_ptr<Scalar>();
  const auto* entropy = in.entropy.const_data_ptr<Scalar>();
  auto* out = slope.data_ptr<Scalar>();
  const Clip clip(s);
  Sums sums;
  for (std::int64_t i = 0; i < slope.numel(); ++i) {
    const double w = static_cast<double>(log_prob[i]) - old_log_prob[i];
    const double ratio = std::exp(w);
    const Gain gain = clip.gain(w, ratio, (advantage[i] - s.advantage_mean) / s.advantage_deviation);
    out[i] = static_cast<Scalar>(-gain.slope / s.rows);
    sums.gain += gain.value;
    sums.clipped += clip.outside(w) ? 1 : 0;
    sums.log_ratio += w;
    sums.ratio += ratio;
    sums.ratio_squared += ratio * ratio;
    sums.max_ratio = std::max(sums.max_ratio, ratio);
    sums.entropy += entropy[i];
  }
  return sums;
}

// A sum over the leaf as a share of the step; a step without rows has no losses, not NaN.
double share(double sum, double rows) {
  return rows > 0 ? sum / rows : 0.0;
}

at::Tensor detached_sum(const at::Tensor& values) {
  return values.detach().sum(at::kDouble);
}

}  // namespace

Outputs clipped_objective(const ObjectiveInputs& in, const ObjectiveSettings& s) {
  if (!all_dense(in.log_prob, in.entropy, in.old_log_prob, in.advantage)) {
    return clipped_objective_composed(in, s);
  }
  const at::ScalarType type = in.log_prob.scalar_type();
  const at::Tensor slope = at::empty(in.log_prob.sizes(), in.log_prob.options());
  const Sums sums = type == at::kFloat ? sum_rows<float>(in, s, slope) : sum_rows<double>(in, s, slope);
  const at::Tensor objective = scalar(-share(sums.gain, s.rows), type);
  const at::Tensor bonus = scalar(-s.entropy_coefficient * share(sums.entropy, s.rows), type);
  if (nn::wants_graph(in.log_prob, in.entropy)) {
    const double entropy_slope = -share(s.entropy_coefficient, s.rows);
    nn::record(c10::make_intrusive<ClippedObjectiveNode>(slope, entropy_slope), {objective, bonus},
               in.log_prob, in.entropy);
  }
  return {{"loss_objective", objective},         {"loss_entropy", bonus},
          {"clipped", scalar(sums.clipped)},     {"log_ratio", scalar(sums.log_ratio)},
          {"ratio", scalar(sums.ratio)},         {"ratio_squared", scalar(sums.ratio_squared)},
          {"max_ratio", scalar(sums.max_ratio)}, {"entropy", scalar(sums.entropy)}};
}

Outputs clipped_objective_composed(const ObjectiveInputs& in, const ObjectiveSettings& s) {
  const Clip clip(s);
  const double per_row = share(1.0, s.rows);
  const at::Tensor advantage = (in.advantage - s.advantage_mean) / s.advantage_deviation;
  const at::Tensor w = in.log_prob - in.old_log_prob;
  const at::Tensor clamped = w.clamp(clip.low(), clip.high());
  const at::Tensor gain = at::minimum(w.exp() * advantage, clamped.exp() * advantage);
  const at::Tensor log_ratio = w.detach().to(at::kDouble);
  const at::Tensor ratio = log_ratio.exp();
  const at::Tensor outside = (log_ratio < clip.low()).logical_or(log_ratio > clip.high());
  return {{"loss_objective", gain.sum() * -per_row},
          {"loss_entropy", in.entropy.sum() * (-s.entropy_coefficient * per_row)},
          {"clipped", detached_sum(outside)},
          {"log_ratio", log_ratio.sum()},
          {"ratio", ratio.sum()},
          {"ratio_squared", ratio.square().sum()},
          {"max_ratio", ratio.numel() > 0 ? ratio.max() : at::zeros({}, ratio.options())},
          {"entropy", detached_sum(in.entropy)}};
}

}  // namespace lockstep::losses
