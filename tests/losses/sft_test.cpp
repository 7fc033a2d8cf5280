#include "lockstep/losses/sft.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/core/error.hpp"
#include "token_models.hpp"

namespace lockstep::losses {
namespace {

TEST(SftLoss, EachSequenceCountsByItsMeanUnderTheMask) {
  const auto model = table_model();
  at::Tensor mask = everything();
  mask[0][0] = mask[2][1] = mask[2][2] = false;
  mask[1].fill_(false);
  const Batch batch = sequences(mask);
  const at::Tensor p = log_probs(*model, batch);
  const auto at_place = [&](std::int64_t row, std::int64_t place) { return p[row][place].item<double>(); };
  const double first = (at_place(0, 1) + at_place(0, 2)) / 2, third = at_place(2, 0);
  const double last = (at_place(3, 0) + at_place(3, 1) + at_place(3, 2)) / 3;
  SftLoss loss(model, {});
  const Step step = run_step(loss, {batch});
  EXPECT_NEAR(step.metrics.at("loss_sft"), -(first + 0 + third + last) / 4, 1e-12);
  EXPECT_NEAR(step.metrics.at("perplexity"), std::exp(-(2 * first + third + 3 * last) / 6), 1e-12);
  EXPECT_EQ(step.metrics.at("valid_tokens"), 6);
  const at::Tensor slope =
      at::tensor({0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0 / 3, 1.0 / 3, 1.0 / 3}, at::kDouble);
  expect_all_close(slope_by_log_prob(*model, batch), -slope.view({rows, places}) / 4);
  expect_same_however_cut(loss, batch);
}

TEST(SftLoss, AccuracyAndTheReferenceCountMaskedTokensOnly) {
  const auto model = table_model();
  at::Tensor mask = everything();
  mask[3].fill_(false);
  Batch batch = sequences(mask);
  batch.replace(key::label, model->table().detach().argmax(1).view({rows, places}));
  at::Tensor reference = log_probs(*model, batch) - 0.5;
  reference[3].fill_(none);
  batch.add(key::reference_log_prob, reference);
  SftLoss loss(model, {.kl_coefficient = 0.2});
  const Step step = run_step(loss, {batch});
  EXPECT_EQ(step.metrics.at("token_accuracy"), 1.0);
  const double k3 = std::exp(-0.5) - 1 + 0.5;
  EXPECT_NEAR(step.metrics.at("kl_to_ref"), k3, 1e-12);
  EXPECT_NEAR(step.metrics.at("loss_kl_to_ref"), 0.2 * k3, 1e-12);
  EXPECT_EQ(loss.loss_names(), (std::vector<std::string>{"loss_sft", "loss_kl_to_ref"}));
}

TEST(SftLoss, MinorSftComparesMeanLogProbabilitiesWithTheReference) {
  const auto model = table_model();
  at::Tensor mask = everything();
  mask[2][0] = false;
  Batch batch = sequences(mask);
  const at::Tensor policy = log_probs(*model, batch);
  at::Tensor reference = policy - 0.5;
  reference[2][0] = none;
  batch.add(key::reference_log_prob, reference);
  SftLoss loss(model, {.minor_beta = 0.1});
  const Step step = run_step(loss, {batch});
  // Each sequence's mean is 0.5 above the reference's, so that the slope is beta (1 - sigmoid) a mean.
  EXPECT_NEAR(step.metrics.at("loss_sft"), std::log1p(std::exp(-0.05)), 1e-12);
  const double slope = 0.1 / (1 + std::exp(0.05));
  const at::Tensor weights = mask.to(at::kDouble) / mask.sum(1, true);
  expect_all_close(slope_by_log_prob(*model, batch), -weights * slope / rows);
  expect_same_however_cut(loss, batch);
  EXPECT_THROW(SftLoss(model, {.minor_beta = 0.0}), ContractError);
}

}  // namespace
}  // namespace lockstep::losses
