#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "lockstep/core/error.hpp"
#include "lockstep/nn/actor_critic.hpp"
#include "lockstep/nn/hand_backward.hpp"
#include "lockstep/nn/hand_node.hpp"

namespace lockstep::nn {
namespace {

at::Tensor normals(at::IntArrayRef shape, std::uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  return at::randn(shape, generator, at::TensorOptions());
}

// The sum of a tensor; counts its backwards.
class SumNode : public HandNode {
 public:
  SumNode(at::IntArrayRef sizes, int* runs) : sizes_(sizes.vec()), runs_(runs) {}
  std::string name() const override { return "SumBackward"; }

 protected:
  torch::autograd::variable_list backward(const torch::autograd::variable_list& gradients) override {
    ++*runs_;
    return {gradients[0].expand(sizes_).contiguous()};
  }
  void release() override {}

 private:
  std::vector<std::int64_t> sizes_;
  int* runs_;
};

at::Tensor sum_by_hand(const at::Tensor& values, int* runs) {
  at::Tensor sum;
  {
    const at::NoGradGuard no_grad;
    sum = values.sum();
  }
  record(c10::make_intrusive<SumNode>(values.sizes(), runs), {sum}, values);
  return sum;
}

struct Network {
  Network() : network(ActorCriticOptions{.observation_size = 3, .action_size = 2, .hidden = {6, 5}}) {
    network.initialize(3);
  }
  // Of entropy, log-probability and value, each a loss.
  std::vector<at::Tensor> losses(int* runs) {
    const auto [log_prob, entropy] =
        evaluate(network.policy(observation), at::tensor({0, 1, 1, 0, 1, 0, 0}, at::kLong));
    return {sum_by_hand(log_prob, runs), sum_by_hand(entropy, runs),
            sum_by_hand(network.value(observation), runs)};
  }
  std::vector<at::Tensor> take_gradients() {
    std::vector<at::Tensor> gradients;
    for (at::Tensor& parameter : network.parameters()) {
      gradients.push_back(parameter.grad());
      parameter.mutable_grad().reset();
    }
    return gradients;
  }
  ActorCritic network;
  at::Tensor observation = normals({7, 3}, 1);
};

void expect_equal(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(a[i].defined() && b[i].defined()) << i;
    EXPECT_TRUE(at::equal(a[i], b[i])) << i;
  }
}

TEST(HandBackward, GivesTheEnginesBits) {
  Network net;
  int runs = 0;
  const auto losses = net.losses(&runs);
  torch::autograd::backward({(losses[0] + losses[1] + losses[2]) * 0.25});
  const auto expected = net.take_gradients();
  backward(net.losses(&runs), 0.25);
  expect_equal(net.take_gradients(), expected);
  EXPECT_EQ(runs, 6);
}

// x + x has two origins of one gradient, and an operator of LibTorch: the engine's part.
TEST(HandBackward, LeavesOtherGraphsToTheEngine) {
  Network net;
  int runs = 0;
  const auto mixed = [&] {
    auto losses = net.losses(&runs);
    losses.push_back(net.network.value(net.observation).square().sum());
    return losses;
  };
  auto losses = mixed();
  torch::autograd::backward({losses[0] + losses[1] + losses[2] + losses[3]});
  const auto expected = net.take_gradients();
  backward(mixed());
  expect_equal(net.take_gradients(), expected);
}

TEST(HandBackward, AddsToAParameterUsedTwice) {
  Network net;
  int runs = 0;
  const auto twice = [&] {
    return std::vector<at::Tensor>{sum_by_hand(net.network.value(net.observation), &runs),
                                   sum_by_hand(net.network.value(net.observation * 2), &runs)};
  };
  const auto losses = twice();
  torch::autograd::backward({losses[0] + losses[1]});
  const at::Tensor expected = net.network.parameters().back().grad().clone();
  net.take_gradients();
  backward(twice());
  EXPECT_TRUE(at::equal(net.network.parameters().back().grad(), expected));
  EXPECT_EQ(net.network.parameters().back().grad().item<float>(), 14.0f);  // the last bias: once a row
}

TEST(HandBackward, SkipsConstantsAndFreesTheGraph) {
  Network net;
  int runs = 0;
  const auto losses = net.losses(&runs);
  backward({at::zeros({}), losses[2]});
  EXPECT_FALSE(net.network.parameters().front().grad().defined());  // the actor's
  EXPECT_TRUE(net.network.parameters().back().grad().defined());
  EXPECT_THROW(backward({losses[2]}), ContractError);
  backward({at::zeros({})});
}

TEST(HandBackward, AddsToGradientsThatAreThere) {
  Network net;
  int runs = 0;
  backward({net.losses(&runs)[2]});
  const at::Tensor once = net.network.parameters().back().grad().clone();
  backward({net.losses(&runs)[2]});
  EXPECT_TRUE(at::equal(net.network.parameters().back().grad(), once * 2));
}

TEST(HandBackward, ForwardColumnIsASqueezedForward) {
  Mlp mlp({3, {4}, 1, Activation::tanh, true});
  std::uint64_t seed = 10;
  const at::Tensor input = normals({5, 3}, 2).requires_grad_(), weigh = normals({5}, 9);
  std::vector<at::Tensor> wanted = mlp.parameters();
  for (at::Tensor& parameter : wanted) {
    const at::NoGradGuard no_grad;
    parameter.copy_(normals(parameter.sizes(), seed++));
  }
  wanted.push_back(input);
  const at::Tensor column = mlp.forward_column(input), squeezed = mlp.forward(input).squeeze(1);
  EXPECT_TRUE(at::equal(column, squeezed));
  expect_equal(torch::autograd::grad({(column * weigh).sum()}, wanted),
               torch::autograd::grad({(squeezed * weigh).sum()}, wanted));
  EXPECT_THROW(Mlp({3, {4}, 2, Activation::tanh, false}).forward_column(input), ContractError);
}

}  // namespace
}  // namespace lockstep::nn
