#include "lockstep/nn/actor_critic.hpp"

#include <ATen/ATen.h>

#include <numbers>

#include "lockstep/core/error.hpp"
#include "lockstep/nn/initialization.hpp"

namespace lockstep::nn {
namespace {

std::shared_ptr<Mlp> make_mlp(const ActorCriticOptions& options, std::int64_t outputs) {
  return std::make_shared<Mlp>(
      MlpOptions{options.observation_size, options.hidden, outputs, options.activation, false});
}

std::int64_t actor_outputs(const ActorCriticOptions& options) {
  const bool state_log_std = !options.discrete && options.log_std == LogStd::state;
  return state_log_std ? 2 * options.action_size : options.action_size;
}

// Every weight of `mlp` by its full name: `gain` for the last layer, sqrt 2 for those before it.
void initialize_mlp(Mlp& mlp, const std::string& prefix, double gain, std::uint64_t seed) {
  const std::string last = std::to_string(2 * mlp.options().hidden.size()) + ".weight";
  for (const auto& item : mlp.named_parameters()) {
    if (item.value().dim() == 2) {
      orthogonal_(item.value(), item.key() == last ? gain : std::numbers::sqrt2, seed,
                  prefix + "." + item.key());
    } else {
      const at::NoGradGuard no_grad;
      item.value().zero_();
    }
  }
}

}  // namespace

at::Tensor log_prob(const Distribution& distribution, const at::Tensor& action) {
  return std::visit([&](const auto& d) { return d.log_prob(action); }, distribution);
}

at::Tensor entropy(const Distribution& distribution) {
  return std::visit([](const auto& d) { return d.entropy(); }, distribution);
}

LogProbEntropy evaluate(const Distribution& distribution, const at::Tensor& action) {
  return std::visit([&](const auto& d) { return d.evaluate(action); }, distribution);
}

at::Tensor mode(const Distribution& distribution) {
  return std::visit([](const auto& d) { return d.mode(); }, distribution);
}

at::Tensor sample(const Distribution& distribution, RandomStream& stream) {
  return std::visit([&](const auto& d) { return d.sample(stream); }, distribution);
}

ActorCritic::ActorCritic(const ActorCriticOptions& options) : options_(options) {
  if (options.action_size < 1) throw ContractError("an ActorCritic needs at least one action");
  actor_ = register_module("actor", make_mlp(options, actor_outputs(options)));
  critic_ = register_module("critic", make_mlp(options, 1));
  if (!options.discrete && options.log_std == LogStd::free) {
    log_std_ = actor_->register_parameter("log_std", at::zeros({options.action_size}));
  }
}

void ActorCritic::initialize(std::uint64_t seed) {
  initialize_mlp(*actor_, "actor", 0.01, seed);  // log_std is a vector, and so set to zero
  initialize_mlp(*critic_, "critic", 1.0, seed);
}

Distribution ActorCritic::policy(const at::Tensor& observation) {
  const at::Tensor output = actor_->forward(observation);
  if (options_.discrete) return Categorical(output);
  if (log_std_.defined()) return Normal(output, log_std_);
  const std::int64_t size = options_.action_size;
  return Normal(output.narrow(1, 0, size), output.narrow(1, size, size));
}

at::Tensor ActorCritic::value(const at::Tensor& observation) {
  return critic_->forward_column(observation);
}

at::ScalarType ActorCritic::dtype() const {
  return critic_->dtype();
}

}  // namespace lockstep::nn
