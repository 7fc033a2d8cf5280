#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <map>

#include "lockstep/core/error.hpp"
#include "lockstep/nn/mlp.hpp"

namespace lockstep::nn {
namespace {

using testing::HasSubstr;

struct Setting {
  at::ScalarType type;
  Activation activation;
  bool activate_output;
};

at::Tensor normals(at::IntArrayRef shape, at::ScalarType type, std::uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  return at::randn(shape, generator, at::TensorOptions(type));
}

std::shared_ptr<Mlp> random_mlp(const MlpOptions& options, at::ScalarType type) {
  auto mlp = std::make_shared<Mlp>(options);
  mlp->to(type);
  const at::NoGradGuard no_grad;
  std::uint64_t seed = 1;
  for (at::Tensor& parameter : mlp->parameters()) {
    parameter.copy_(normals(parameter.sizes(), type, seed++) * 0.5);
  }
  return mlp;
}

// The same network from autograd's own operators.
at::Tensor composed(const Mlp& mlp, at::Tensor x) {
  const auto parameters = mlp.named_parameters();
  const std::size_t layers = mlp.options().hidden.size() + 1;
  for (std::size_t i = 0; i < layers; ++i) {
    const std::string name = std::to_string(2 * i);
    x = at::linear(x, parameters[name + ".weight"], parameters[name + ".bias"]);
    if (i + 1 == layers && !mlp.options().activate_output) break;
    x = mlp.options().activation == Activation::tanh ? at::tanh(x) : at::relu(x);
  }
  return x;
}

double largest_error(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).abs() / (1 + b.abs())).max().item<double>();
}

class MlpAgainstAutograd : public testing::TestWithParam<Setting> {};

TEST_P(MlpAgainstAutograd, ValuesAndAllGradientsAgree) {
  const auto [type, activation, activate_output] = GetParam();
  const double bound = type == at::kDouble ? 1e-12 : 1e-5;
  const auto mlp = random_mlp({5, {7, 6}, 3, activation, activate_output}, type);
  const at::Tensor input = normals({11, 5}, type, 40).requires_grad_();
  const at::Tensor weigh = normals({11, 3}, type, 41);

  std::vector<at::Tensor> inputs = mlp->parameters();
  inputs.push_back(input);
  const at::Tensor ours = mlp->forward(input), theirs = composed(*mlp, input);
  EXPECT_LE(largest_error(ours, theirs), bound);
  const auto our_gradients = torch::autograd::grad({(ours * weigh).sum()}, inputs);
  const auto their_gradients = torch::autograd::grad({(theirs * weigh).sum()}, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(our_gradients[i].scalar_type(), type);
    EXPECT_LE(largest_error(our_gradients[i], their_gradients[i]), bound) << "input " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, MlpAgainstAutograd,
                         testing::Values(Setting{at::kDouble, Activation::tanh, false},
                                         Setting{at::kDouble, Activation::tanh, true},
                                         Setting{at::kDouble, Activation::relu, false},
                                         Setting{at::kDouble, Activation::relu, true},
                                         Setting{at::kFloat, Activation::tanh, false},
                                         Setting{at::kFloat, Activation::relu, true}));

TEST(Mlp, GradientsAreFiniteDifferences) {
  const auto mlp = random_mlp({3, {4}, 2, Activation::tanh, true}, at::kDouble);
  const at::Tensor input = normals({5, 3}, at::kDouble, 50);
  const at::Tensor weigh = normals({5, 2}, at::kDouble, 51);
  const auto loss = [&] { return (mlp->forward(input) * weigh).sum(); };
  loss().backward();
  const at::NoGradGuard no_grad;
  const double step = 1e-5;
  for (at::Tensor& parameter : mlp->parameters()) {
    double* value = parameter.data_ptr<double>();
    const double* gradient = parameter.grad().const_data_ptr<double>();
    for (std::int64_t i = 0; i < parameter.numel(); ++i) {
      const double kept = value[i];
      value[i] = kept + step;
      const double above = loss().item<double>();
      value[i] = kept - step;
      const double below = loss().item<double>();
      value[i] = kept;
      EXPECT_NEAR(gradient[i], (above - below) / (2 * step), 1e-8);
    }
  }
}

TEST(Mlp, NamesItsParametersAsSequentialDoes) {
  const Mlp mlp({4, {8, 6}, 2, Activation::tanh, false});
  std::vector<std::string> names;
  for (const auto& item : mlp.named_parameters()) names.push_back(item.key());
  EXPECT_EQ(names,
            (std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias", "4.weight", "4.bias"}));
  EXPECT_EQ(mlp.named_parameters()["2.weight"].sizes(), (std::vector<std::int64_t>{6, 8}));
}

TEST(Mlp, FollowsParametersMovedIntoAFlatBuffer) {
  const auto mlp = random_mlp({3, {4}, 2, Activation::tanh, false}, at::kDouble);
  const at::Tensor input = normals({5, 3}, at::kDouble, 60);
  const at::Tensor before = mlp->forward(input).detach().clone();
  std::int64_t size = 0;
  for (const at::Tensor& parameter : mlp->parameters()) size += parameter.numel();
  const at::Tensor flat = at::empty({size}, at::kDouble);
  std::int64_t offset = 0;
  for (at::Tensor& parameter : mlp->parameters()) {
    const at::Tensor view = flat.narrow(0, offset, parameter.numel()).view(parameter.sizes());
    view.copy_(parameter.detach());
    parameter.set_data(view);
    offset += parameter.numel();
  }
  EXPECT_TRUE(at::equal(mlp->forward(input).detach(), before));
  flat.mul_(2);
  EXPECT_FALSE(at::equal(mlp->forward(input).detach(), before));
  EXPECT_LE(largest_error(mlp->forward(input), composed(*mlp, input)), 1e-12);
  mlp->forward(input).sum().backward();
  for (const at::Tensor& parameter : mlp->parameters()) EXPECT_TRUE(parameter.grad().defined());
}

TEST(Mlp, FrozenParametersGetNoGradientAndOthersTheSame) {
  const auto mlp = random_mlp({3, {4, 4}, 2, Activation::tanh, false}, at::kDouble);
  const at::Tensor input = normals({5, 3}, at::kDouble, 70);
  mlp->forward(input).sum().backward();
  std::map<std::string, at::Tensor> full;
  for (auto& item : mlp->named_parameters()) full[item.key()] = item.value().grad().clone();
  mlp->zero_grad();
  const std::vector<std::string> frozen{"0.weight", "0.bias", "2.bias", "4.weight"};
  for (const std::string& name : frozen) mlp->named_parameters()[name].requires_grad_(false);
  mlp->forward(input).sum().backward();
  for (auto& item : mlp->named_parameters()) {
    const bool is_frozen = std::find(frozen.begin(), frozen.end(), item.key()) != frozen.end();
    EXPECT_EQ(item.value().grad().defined(), !is_frozen) << item.key();
    if (is_frozen) continue;
    EXPECT_TRUE(at::equal(item.value().grad(), full[item.key()])) << item.key();
  }
}

TEST(Mlp, HasNoGraphWithoutGradients) {
  const auto mlp = random_mlp({3, {4}, 2, Activation::tanh, false}, at::kFloat);
  const at::Tensor input = normals({5, 3}, at::kFloat, 80);
  EXPECT_TRUE(mlp->forward(input).requires_grad());
  {
    const at::NoGradGuard no_grad;
    EXPECT_FALSE(mlp->forward(input).requires_grad());
  }
  {
    const c10::InferenceMode inference;
    EXPECT_TRUE(at::isfinite(mlp->forward(input)).all().item<bool>());
  }
  for (at::Tensor& parameter : mlp->parameters()) parameter.requires_grad_(false);
  EXPECT_FALSE(mlp->forward(input).requires_grad());
}

TEST(Mlp, RefusesSecondDerivativesAndASecondBackward) {
  const auto mlp = random_mlp({3, {4}, 2, Activation::tanh, false}, at::kDouble);
  const at::Tensor input = normals({5, 3}, at::kDouble, 90);
  const auto refused = [](const auto& action) -> std::string {
    try {
      action();
    } catch (const ContractError& error) {
      return error.what();
    }
    return "no ContractError";
  };
  const at::Tensor loss = mlp->forward(input).sum();
  EXPECT_THAT(refused([&] { torch::autograd::grad({loss}, mlp->parameters(), {}, true, true); }),
              HasSubstr("no second derivative"));
  loss.backward({}, /*retain_graph=*/true);
  loss.backward();
  EXPECT_THAT(refused([&] { loss.backward(); }), HasSubstr("retain_graph"));
}

TEST(Mlp, DetectsWeightsChangedBeforeBackward) {
  const auto mlp = random_mlp({3, {4}, 2, Activation::tanh, false}, at::kDouble);
  const at::Tensor loss = mlp->forward(normals({5, 3}, at::kDouble, 91)).sum();
  {
    const at::NoGradGuard no_grad;
    mlp->named_parameters()["2.weight"].mul_(2);
  }
  EXPECT_THROW(loss.backward(), c10::Error);
}

TEST(Mlp, TakesNoRows) {
  const auto mlp = random_mlp({3, {4}, 2, Activation::tanh, false}, at::kFloat);
  const at::Tensor output = mlp->forward(at::zeros({0, 3}));
  EXPECT_EQ(output.sizes(), (std::vector<std::int64_t>{0, 2}));
  output.sum().backward();
  for (const at::Tensor& parameter : mlp->parameters()) {
    EXPECT_EQ(parameter.grad().abs().sum().item<double>(), 0.0);
  }
}

TEST(Mlp, RefusesWrongInputs) {
  Mlp mlp({3, {4}, 2, Activation::tanh, false});
  EXPECT_THROW(mlp.forward(at::zeros({5, 4})), ContractError);
  EXPECT_THROW(mlp.forward(at::zeros({3})), ContractError);
  EXPECT_THROW(mlp.forward(at::zeros({5, 3}, at::kDouble)), ContractError);
  EXPECT_THROW(Mlp({0, {4}, 2, Activation::tanh, false}), ContractError);
  EXPECT_THROW(activation_from("gelu"), InputError);
  EXPECT_EQ(activation_from("relu"), Activation::relu);
}

}  // namespace
}  // namespace lockstep::nn
