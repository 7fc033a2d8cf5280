#include "lockstep/nn/twin_q.hpp"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include "lockstep/core/error.hpp"
#include "lockstep/nn/initialization.hpp"

namespace lockstep::nn {
namespace {

std::shared_ptr<Mlp> make_q(const TwinQOptions& options) {
  return std::make_shared<Mlp>(MlpOptions{options.observation_size + options.action_size, options.hidden, 1,
                                          options.activation, false});
}

}  // namespace

TwinQ::TwinQ(const TwinQOptions& options) : options_(options) {
  if (options.observation_size < 1 || options.action_size < 1) {
    throw ContractError(c10::str("a TwinQ needs an observation and an action of at least one dimension, not ",
                                 options.observation_size, " and ", options.action_size));
  }
  q0_ = register_module("q0", make_q(options));
  q1_ = register_module("q1", make_q(options));
}

void TwinQ::initialize(std::uint64_t seed) {
  fan_in_uniform_(*q0_, seed, "q0");
  fan_in_uniform_(*q1_, seed, "q1");
}

at::Tensor TwinQ::joined(const at::Tensor& observation, const at::Tensor& action) const {
  const auto fits = [&](const at::Tensor& tensor, std::int64_t columns) {
    return tensor.dim() == 2 && tensor.size(0) == observation.size(0) && tensor.size(1) == columns &&
           tensor.scalar_type() == dtype();
  };
  if (!fits(observation, options_.observation_size) || !fits(action, options_.action_size)) {
    throw ContractError(c10::str("a TwinQ in ", dtype(), " needs an observation of shape [rows, ",
                                 options_.observation_size, "] and an action of shape [rows, ",
                                 options_.action_size, "], not ", observation.scalar_type(), " ",
                                 observation.sizes(), " and ", action.scalar_type(), " ", action.sizes()));
  }
  return at::cat({observation, action}, 1);
}

std::pair<at::Tensor, at::Tensor> TwinQ::forward(const at::Tensor& observation, const at::Tensor& action) {
  const at::Tensor input = joined(observation, action);
  return {q0_->forward(input).squeeze(1), q1_->forward(input).squeeze(1)};
}

at::Tensor TwinQ::first(const at::Tensor& observation, const at::Tensor& action) {
  return q0_->forward(joined(observation, action)).squeeze(1);
}

}  // namespace lockstep::nn
