#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lockstep/core/error.hpp"
#include "lockstep/losses/value_estimators.hpp"

namespace lockstep::losses {
namespace {

at::Tensor column(std::vector<double> values) {
  return at::tensor(values, at::kDouble).unsqueeze(1);
}
at::Tensor flags(std::vector<std::int64_t> values) {
  return at::tensor(values, at::kLong).unsqueeze(1).to(at::kBool);
}

void expect_column(const at::Tensor& tensor, const std::vector<double>& values) {
  ASSERT_EQ(tensor.sizes(), (std::vector<std::int64_t>{static_cast<std::int64_t>(values.size()), 1}));
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(tensor[static_cast<std::int64_t>(i)].item<double>(), values[i], 1e-12) << "step " << i;
  }
}

// gamma = lambda = 1/2 and small integers, by hand. Step 1 ends the episode: by truncation, or by
// termination.
Trajectory four_steps(bool terminates) {
  return {column({1, 2, 3, 4}), column({8, 4, 2, 1}), column({4, 6, 1, 10}), flags({0, terminates, 0, 0}),
          flags({0, 1, 0, 0})};
}

TEST(Gae, BootstrapsAtATruncationNotAtATermination) {
  // d = 1+2-8, 2+3-4 (or 2-4), 3+0.5-2, 4+5-1; the trace is cut after step 1 and at the end.
  const ValueEstimate truncated = gae(four_steps(false), 0.5, 0.5);
  expect_column(truncated.advantage, {-4.75, 1, 3.5, 8});
  expect_column(truncated.target, {3.25, 5, 5.5, 9});
  const ValueEstimate terminated = gae(four_steps(true), 0.5, 0.5);
  expect_column(terminated.advantage, {-5.5, -2, 3.5, 8});
}

TEST(Td, TargetsByHand) {
  expect_column(td0(four_steps(false), 0.5), {3, 5, 3.5, 9});
  expect_column(td0(four_steps(true), 0.5), {3, 2, 3.5, 9});
  expect_column(td1(four_steps(false), 0.5), {3.5, 5, 7.5, 9});
  expect_column(td1(four_steps(true), 0.5), {2, 2, 7.5, 9});
  expect_column(td_lambda(four_steps(true), 0.5, 0.5), {2.5, 2, 5.5, 9});
  EXPECT_TRUE(at::allclose(td_lambda(four_steps(false), 0.5, 1.0), td1(four_steps(false), 0.5)));
}

TEST(Vtrace, OnPolicyIsTd1) {
  const at::Tensor log_mu = column({-1, -2, -0.5, -3});
  const ValueEstimate estimate = vtrace(four_steps(true), log_mu, log_mu, 0.5);
  EXPECT_TRUE(at::allclose(estimate.target, td1(four_steps(true), 0.5)));
}

TEST(Vtrace, ClipsRatiosAtOneAndWeighsSmallOnes) {
  const at::Tensor log_mu = at::zeros({4, 1}, at::kDouble), log_pi = column({5, 5, -100, 5});
  const ValueEstimate estimate = vtrace(four_steps(true), log_pi, log_mu, 0.5);
  expect_column(estimate.target, {2, 2, 2, 9});  // a step that the policy never takes keeps V
  EXPECT_NEAR(estimate.advantage[2].item<double>(), 0.0, 1e-12);
}

TEST(ValueEstimators, ColumnsAreIndependentAndFloat32Stays) {
  const Trajectory truncated = four_steps(false), terminated = four_steps(true);
  Trajectory both;
  both.reward = at::cat({truncated.reward, terminated.reward}, 1);
  both.value = at::cat({truncated.value, terminated.value}, 1);
  both.next_value = at::cat({truncated.next_value, terminated.next_value}, 1);
  both.terminated = at::cat({truncated.terminated, terminated.terminated}, 1);
  both.done = at::cat({truncated.done, terminated.done}, 1);
  const at::Tensor together = gae(both, 0.5, 0.5).advantage;
  EXPECT_TRUE(at::equal(together.select(1, 0), gae(truncated, 0.5, 0.5).advantage.select(1, 0)));
  EXPECT_TRUE(at::equal(together.select(1, 1), gae(terminated, 0.5, 0.5).advantage.select(1, 0)));

  both.reward = both.reward.to(at::kFloat);
  EXPECT_THROW(gae(both, 0.5, 0.5), ContractError);  // value is still float64
  both.value = both.value.to(at::kFloat);
  both.next_value = both.next_value.to(at::kFloat);
  const at::Tensor narrow = gae(both, 0.5, 0.5).advantage;
  EXPECT_EQ(narrow.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::allclose(narrow.to(at::kDouble), together));
}

TEST(ValueEstimators, RefusesWrongShapes) {
  Trajectory flat = four_steps(false);
  flat.reward = flat.reward.squeeze(1);
  EXPECT_THROW(gae(flat, 0.5, 0.5), ContractError);
  Trajectory flagless = four_steps(false);
  flagless.done = flagless.done.to(at::kLong);
  EXPECT_THROW(td0(flagless, 0.5), ContractError);
  EXPECT_THROW(vtrace(four_steps(false), at::zeros({4}), at::zeros({4}), 0.5), ContractError);
}

}  // namespace
}  // namespace lockstep::losses
