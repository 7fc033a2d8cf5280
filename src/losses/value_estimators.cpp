#include "lockstep/losses/value_estimators.hpp"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cmath>

#include "lockstep/core/error.hpp"

namespace lockstep::losses {
namespace {

void require_like(const at::Tensor& tensor, const at::Tensor& reward, at::ScalarType type, const char* name) {
  if (tensor.sizes() != reward.sizes() || tensor.scalar_type() != type) {
    throw ContractError(c10::str("trajectory entry '", name, "' must be ", type, " of shape ", reward.sizes(),
                                 ", as reward is; it is ", tensor.scalar_type(), " of shape ",
                                 tensor.sizes()));
  }
}

bool is_float32_or_float64(at::ScalarType type) {
  return type == at::kFloat || type == at::kDouble;
}

void require_trajectory(const Trajectory& t) {
  if (t.reward.dim() != 2 || !is_float32_or_float64(t.reward.scalar_type())) {
    throw ContractError(
        c10::str("trajectory entry 'reward' must be float32 or float64 of shape [T, n]; it is ",
                 t.reward.scalar_type(), " of shape ", t.reward.sizes()));
  }
  require_like(t.value, t.reward, t.reward.scalar_type(), "value");
  require_like(t.next_value, t.reward, t.reward.scalar_type(), "next_value");
  require_like(t.terminated, t.reward, at::kBool, "terminated");
  require_like(t.done, t.reward, at::kBool, "done");
}

at::Tensor dense(const at::Tensor& tensor) {
  return tensor.detach().to(at::kCPU).contiguous();
}

// A trajectory in contiguous CPU memory, walked from the last step to the first within each column.
template <class Scalar>
class Columns {
 public:
  explicit Columns(const Trajectory& t)
      : reward_(dense(t.reward)),
        value_(dense(t.value)),
        next_value_(dense(t.next_value)),
        terminated_(dense(t.terminated)),
        done_(dense(t.done)),
        steps_(t.reward.size(0)),
        columns_(t.reward.size(1)) {}

  struct Step {
    std::int64_t index;  // in the flattened [T, n]
    Scalar reward, value, next_value;
    Scalar going_on;  // 0 where terminated, else 1
    bool done;
    bool ends;  // done, or the window's last step: the recursion starts afresh
  };

  // `carried` is what the visit at t + 1 returned (0 at the last step).
  template <class Visit>
  void backward(Visit&& visit) const {
    for (std::int64_t column = 0; column < columns_; ++column) {
      Scalar carried = 0;
      for (std::int64_t t = steps_; t-- > 0;) carried = visit(step(t, column), carried);
    }
  }

 private:
  Step step(std::int64_t t, std::int64_t column) const {
    const std::int64_t i = t * columns_ + column;
    const bool done = done_.template const_data_ptr<bool>()[i];
    return {i,
            reward_.template const_data_ptr<Scalar>()[i],
            value_.template const_data_ptr<Scalar>()[i],
            next_value_.template const_data_ptr<Scalar>()[i],
            static_cast<Scalar>(terminated_.template const_data_ptr<bool>()[i] ? 0 : 1),
            done,
            done || t + 1 == steps_};
  }

  at::Tensor reward_, value_, next_value_, terminated_, done_;
  std::int64_t steps_, columns_;
};

at::Tensor result_like(const at::Tensor& reward) {
  return at::empty(reward.sizes(), reward.options().device(at::kCPU).requires_grad(false));
}

}  // namespace

ValueEstimate gae(const Trajectory& trajectory, double gamma, double lambda) {
  require_trajectory(trajectory);
  at::Tensor advantage = result_like(trajectory.reward), target = result_like(trajectory.reward);
  AT_DISPATCH_FLOATING_TYPES(advantage.scalar_type(), "gae", [&] {
    using Step = typename Columns<scalar_t>::Step;
    const auto g = static_cast<scalar_t>(gamma), gl = static_cast<scalar_t>(gamma * lambda);
    auto* a = advantage.data_ptr<scalar_t>();
    auto* v = target.data_ptr<scalar_t>();
    Columns<scalar_t>(trajectory).backward([&](const Step& s, scalar_t later) {
      const scalar_t delta = s.reward + g * s.going_on * s.next_value - s.value;
      a[s.index] = s.ends ? delta : delta + gl * later;
      v[s.index] = a[s.index] + s.value;
      return a[s.index];
    });
  });
  const auto device = trajectory.reward.device();
  return {advantage.to(device), target.to(device)};
}

at::Tensor td0(const Trajectory& trajectory, double gamma) {
  return td_lambda(trajectory, gamma, 0.0);
}

at::Tensor td_lambda(const Trajectory& trajectory, double gamma, double lambda) {
  require_trajectory(trajectory);
  at::Tensor target = result_like(trajectory.reward);
  AT_DISPATCH_FLOATING_TYPES(target.scalar_type(), "td_lambda", [&] {
    using Step = typename Columns<scalar_t>::Step;
    const auto g = static_cast<scalar_t>(gamma), l = static_cast<scalar_t>(lambda);
    auto* out = target.data_ptr<scalar_t>();
    Columns<scalar_t>(trajectory).backward([&](const Step& s, scalar_t later) {
      const scalar_t bootstrap = s.going_on * s.next_value;
      const scalar_t rest = s.ends ? bootstrap : later;
      return out[s.index] = s.reward + g * ((1 - l) * bootstrap + l * rest);
    });
  });
  return target.to(trajectory.reward.device());
}

at::Tensor td1(const Trajectory& trajectory, double gamma) {
  require_trajectory(trajectory);
  at::Tensor target = result_like(trajectory.reward);
  AT_DISPATCH_FLOATING_TYPES(target.scalar_type(), "td1", [&] {
    using Step = typename Columns<scalar_t>::Step;
    const auto g = static_cast<scalar_t>(gamma);
    auto* out = target.data_ptr<scalar_t>();
    Columns<scalar_t>(trajectory).backward([&](const Step& s, scalar_t later) {
      return out[s.index] = s.reward + g * s.going_on * (s.ends ? s.next_value : later);
    });
  });
  return target.to(trajectory.reward.device());
}

ValueEstimate vtrace(const Trajectory& trajectory, const at::Tensor& log_pi, const at::Tensor& log_mu,
                     double gamma) {
  require_trajectory(trajectory);
  require_like(log_pi, trajectory.reward, trajectory.reward.scalar_type(), "log_pi");
  require_like(log_mu, trajectory.reward, trajectory.reward.scalar_type(), "log_mu");
  at::Tensor advantage = result_like(trajectory.reward), target = result_like(trajectory.reward);
  const at::Tensor pi = dense(log_pi), mu = dense(log_mu);
  AT_DISPATCH_FLOATING_TYPES(advantage.scalar_type(), "vtrace", [&] {
    using Step = typename Columns<scalar_t>::Step;
    const auto g = static_cast<scalar_t>(gamma);
    const auto* log_pi_at = pi.const_data_ptr<scalar_t>();
    const auto* log_mu_at = mu.const_data_ptr<scalar_t>();
    auto* a = advantage.data_ptr<scalar_t>();
    auto* vs = target.data_ptr<scalar_t>();
    const std::int64_t columns = advantage.size(1);
    Columns<scalar_t>(trajectory).backward([&](const Step& s, scalar_t later) {
      const scalar_t rho = std::min<scalar_t>(1, std::exp(log_pi_at[s.index] - log_mu_at[s.index]));
      const scalar_t surprise = rho * (s.reward + g * s.going_on * s.next_value - s.value);
      const scalar_t correction = s.ends ? surprise : surprise + g * rho * later;
      const scalar_t next = s.ends ? s.next_value : vs[s.index + columns];
      vs[s.index] = correction + s.value;
      a[s.index] = rho * (s.reward + g * s.going_on * next - s.value);
      return correction;
    });
  });
  const auto device = trajectory.reward.device();
  return {advantage.to(device), target.to(device)};
}

}  // namespace lockstep::losses
