#include "lockstep/nn/q_network.hpp"

#include "lockstep/nn/initialization.hpp"

namespace lockstep::nn {

QNetwork::QNetwork(const QNetworkOptions& options)
    : options_(options),
      q_(register_module(
          "q", std::make_shared<Mlp>(MlpOptions{options.observation_size, options.hidden, options.actions,
                                                options.activation, false}))) {}

void QNetwork::initialize(std::uint64_t seed) {
  fan_in_uniform_(*q_, seed, "q");
}

at::Tensor QNetwork::forward(const at::Tensor& observation) {
  return q_->forward(observation);
}

}  // namespace lockstep::nn
