#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/core/error.hpp"
#include "lockstep/nn/actor_critic.hpp"

namespace lockstep::nn {
namespace {

std::vector<std::string> names_of(const ActorCritic& network) {
  std::vector<std::string> names;
  for (const auto& item : network.named_parameters()) names.push_back(item.key());
  return names;
}

TEST(ActorCritic, NamesItsParameters) {
  EXPECT_EQ(
      names_of(ActorCritic({4, true, 2, {8}, Activation::tanh, LogStd::free})),
      (std::vector<std::string>{"actor.0.weight", "actor.0.bias", "actor.2.weight", "actor.2.bias",
                                "critic.0.weight", "critic.0.bias", "critic.2.weight", "critic.2.bias"}));
  const ActorCritic normal({3, false, 2, {8}, Activation::tanh, LogStd::free});
  EXPECT_EQ(names_of(normal).front(), "actor.log_std");
  EXPECT_EQ(normal.named_parameters()["actor.log_std"].sizes(), (std::vector<std::int64_t>{2}));
  const ActorCritic state({3, false, 2, {8}, Activation::tanh, LogStd::state});
  EXPECT_FALSE(state.named_parameters().contains("actor.log_std"));
  EXPECT_EQ(state.named_parameters()["actor.2.weight"].size(0), 4);
}

TEST(ActorCritic, InitializesByNameWithTheGains) {
  ActorCritic network({3, false, 2, {8}, Activation::tanh, LogStd::free});
  {
    const at::NoGradGuard no_grad;
    for (at::Tensor& parameter : network.parameters()) parameter.fill_(5);
  }
  network.initialize(11);
  const auto parameters = network.named_parameters();
  const auto column_norm = [&](const char* name, int dim) {
    return parameters[name].detach().norm(2, dim)[0].item<double>();
  };
  EXPECT_NEAR(column_norm("actor.0.weight", 0), std::sqrt(2.0), 1e-6);
  EXPECT_NEAR(column_norm("critic.0.weight", 0), std::sqrt(2.0), 1e-6);
  EXPECT_NEAR(column_norm("actor.2.weight", 1), 0.01, 1e-8);
  EXPECT_NEAR(column_norm("critic.2.weight", 1), 1.0, 1e-6);
  for (const char* name :
       {"actor.log_std", "actor.0.bias", "actor.2.bias", "critic.0.bias", "critic.2.bias"}) {
    EXPECT_EQ(parameters[name].detach().abs().max().item<double>(), 0.0) << name;
  }
  EXPECT_FALSE(at::equal(parameters["actor.0.weight"], parameters["critic.0.weight"]));

  // Another critic, another order of building: the actor's weights stay.
  ActorCritic wider({3, false, 2, {8}, Activation::tanh, LogStd::state});
  wider.initialize(11);
  EXPECT_TRUE(at::equal(wider.named_parameters()["actor.0.weight"], parameters["actor.0.weight"]));
}

TEST(ActorCritic, HeadsAndShapes) {
  const at::Tensor observation = at::ones({6, 3});
  ActorCritic discrete({3, true, 4, {8}, Activation::relu, LogStd::free});
  discrete.initialize(1);
  EXPECT_TRUE(std::holds_alternative<Categorical>(discrete.policy(observation)));
  EXPECT_EQ(discrete.value(observation).sizes(), (std::vector<std::int64_t>{6}));
  EXPECT_EQ(discrete.dtype(), at::kFloat);

  ActorCritic state({3, false, 2, {8}, Activation::tanh, LogStd::state});
  state.initialize(1);
  const Distribution policy = state.policy(observation);
  ASSERT_TRUE(std::holds_alternative<Normal>(policy));
  RandomStream stream(1, StreamId::test, 0);
  EXPECT_EQ(sample(policy, stream).sizes(), (std::vector<std::int64_t>{6, 2}));
  EXPECT_EQ(mode(policy).sizes(), (std::vector<std::int64_t>{6, 2}));
  EXPECT_EQ(entropy(policy).sizes(), (std::vector<std::int64_t>{6}));
  EXPECT_EQ(log_prob(policy, at::zeros({6, 2})).sizes(), (std::vector<std::int64_t>{6}));
  EXPECT_THROW(ActorCritic({3, true, 0, {8}, Activation::tanh, LogStd::free}), ContractError);
}

}  // namespace
}  // namespace lockstep::nn
