// The clipped losses over tokens: what the reference file does not exercise.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lockstep/core/error.hpp"
#include "lockstep/losses/group_advantage.hpp"
#include "lockstep/losses/grpo.hpp"
#include "token_models.hpp"

namespace lockstep::losses {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The tokens were sampled where log pi - w was log mu: `w` [rows, places].
Batch sampled(const TableModel& model, const at::Tensor& w, const at::Tensor& advantage,
              const at::Tensor& mask) {
  Batch batch = sequences(mask);
  batch.add(key::token_log_prob, log_probs(model, batch) - w);
  batch.add(key::advantage, advantage);
  return batch;
}

// Ratios e^w of 1.5, 0.5 and 1 in every row.
at::Tensor three_ratios() {
  return at::tensor({1.5, 0.5, 1.0}, at::kDouble).log().expand({rows, places}).contiguous();
}

at::Tensor by_row(std::initializer_list<double> values) {
  return at::tensor(std::vector<double>(values), at::kDouble);
}

TEST(GrpoLoss, ClippedTokensHaveNoGradientWhereClippingBinds) {
  const auto model = table_model();
  GrpoLoss loss(model, {.clip_low = 0.2, .clip_high = 0.28});
  const at::Tensor advantage = by_row({2, -1, 2, -1});
  const Batch batch = sampled(*model, three_ratios(), advantage, everything());
  const Step step = run_step(loss, {batch});
  // A > 0: the ratio 1.5 is above the upper clip, and only 0.5 and 1 pull; A < 0: 0.5 is below the lower.
  const double n = rows * places;
  const at::Tensor up = by_row({0, 0.5, 1}) * 2, down = by_row({1.5, 0, 1}) * -1;
  expect_all_close(slope_by_log_prob(*model, batch), -at::stack({up, down, up, down}) / n);
  const double objective = 2 * (2 * (1.28 + 0.5 + 1) - (1.5 + 0.8 + 1)) / n;
  EXPECT_NEAR(step.metrics.at("loss_objective"), -objective, 1e-12);
  EXPECT_NEAR(step.metrics.at("clip_fraction"), 2.0 / 3, 1e-12);
  EXPECT_NEAR(step.metrics.at("mean_ratio"), 1.0, 1e-12);
  EXPECT_NEAR(step.metrics.at("max_ratio"), 1.5, 1e-12);
  EXPECT_NEAR(step.metrics.at("ess"), 9.0 / (3 * (2.25 + 0.25 + 1)), 1e-12);
  EXPECT_NEAR(step.metrics.at("max_log_prob_gap"), std::log(2), 1e-12);
}

TEST(GrpoLoss, CispoOfThePaperKeepsClippedTokens) {
  const auto model = table_model();
  const at::Tensor advantage = by_row({2, -1, 2, -1});
  const Batch batch = sampled(*model, three_ratios(), advantage, everything());
  const at::Tensor ratio = by_row({1.28, 0.8, 1}).expand({rows, places});
  const at::Tensor weight = ratio * advantage.unsqueeze(1) / (rows * places);

  GrpoLoss paper(model, {.objective = TokenObjective::cispo, .clip_low = 0.2, .clip_high = 0.28});
  const Step step = run_step(paper, {batch});
  expect_all_close(slope_by_log_prob(*model, batch), -weight);
  const double expected = -(weight * log_probs(*model, batch)).sum().item<double>();
  EXPECT_NEAR(step.metrics.at("loss_objective"), expected, 1e-12);

  GrpoLoss torchrl(model, {.objective = TokenObjective::cispo_torchrl, .clip_low = 0.2, .clip_high = 0.28});
  EXPECT_NEAR(run_step(torchrl, {batch}).metrics.at("loss_objective"), -weight.sum().item<double>(), 1e-12);
  const at::Tensor unclipped = by_row({0, 0, 1}).expand({rows, places});
  expect_all_close(slope_by_log_prob(*model, batch), -weight * unclipped);
}

TEST(GrpoLoss, AnOldLogProbabilityThatIsNotFiniteIsAnInvalidToken) {
  for (const auto aggregation : {Aggregation::token_mean, Aggregation::prompt_mean}) {
    const auto model = table_model();
    GrpoLoss loss(model, {.aggregation = aggregation, .entropy_coefficient = 0.1, .kl_coefficient = 0.1});
    at::Tensor mask = everything();
    mask[0][2] = mask[1][0] = mask[3][1] = false;
    Batch masked = sampled(*model, three_ratios(), by_row({2, -1, 1, 3}), mask);
    masked.add(key::reference_log_prob, log_probs(*model, masked) + 0.3);
    const Step expected = run_step(loss, {masked});
    const at::Tensor gradient = model->table().grad().clone();

    Batch holes = masked;
    holes.replace(key::mask, everything());
    at::Tensor old = masked.at(key::token_log_prob).clone();
    old[0][2] = -infinity;
    old[1][0] = none;
    holes.replace(key::token_log_prob, old);
    at::Tensor reference = masked.at(key::reference_log_prob).clone();
    reference[3][1] = infinity;
    holes.replace(key::reference_log_prob, reference);
    const Step step = run_step(loss, {holes});
    EXPECT_EQ(step.metrics, expected.metrics);
    EXPECT_TRUE(at::equal(model->table().grad(), gradient));
    EXPECT_EQ(step.metrics.at("valid_tokens"), rows * places - 3);
    expect_same_however_cut(loss, holes);
  }
}

TEST(GrpoLoss, TokenMeanWeighsTokensAndPromptMeanSequences) {
  const auto model = table_model();
  at::Tensor mask = everything();
  mask[0][1] = mask[0][2] = false;
  // On-policy: the objective of a token is its advantage.
  const at::Tensor none_changed = at::zeros({rows, places}, at::kDouble);
  const Batch batch = sampled(*model, none_changed, by_row({8, 1, 2, 3}), mask);
  GrpoLoss tokens(model, {.aggregation = Aggregation::token_mean});
  EXPECT_NEAR(run_step(tokens, {batch}).metrics.at("loss_objective"), -(8 + 3 * (1 + 2 + 3)) / 10.0, 1e-12);
  GrpoLoss prompts(model, {.aggregation = Aggregation::prompt_mean});
  EXPECT_NEAR(run_step(prompts, {batch}).metrics.at("loss_objective"), -(8 + 1 + 2 + 3) / 4.0, 1e-12);
}

TEST(GrpoLoss, DroppedGroupsCountInNoDenominator) {
  const auto model = table_model();
  const GroupAdvantages groups = group_advantages(by_row({1, 1, 3, 1}), 2, {.divide_by_deviation = false});
  EXPECT_EQ(groups.equal_fraction, 0.5);
  const at::Tensor kept = everything().logical_and(groups.kept.unsqueeze(1));
  const Batch all = sampled(*model, three_ratios(), groups.advantage, everything());
  const Batch dropped = sampled(*model, three_ratios(), groups.advantage, kept);
  GrpoLoss loss(model, {});
  const Step whole = run_step(loss, {all}), rest = run_step(loss, {dropped});
  EXPECT_EQ(rest.metrics.at("valid_tokens"), 2 * places);
  EXPECT_NE(whole.metrics.at("loss_objective"), 0.0);
  EXPECT_NEAR(rest.metrics.at("loss_objective"), 2 * whole.metrics.at("loss_objective"), 1e-12);
}

TEST(GrpoLoss, EntropyIsThatOfTheDistribution) {
  const auto model = table_model();
  const Batch batch =
      sampled(*model, at::zeros({rows, places}, at::kDouble), by_row({0, 0, 0, 0}), everything());
  const at::Tensor p = model->table().detach().softmax(1);
  const double entropy = -(p * p.log()).sum(1).mean().item<double>();
  GrpoLoss plain(model, {});
  EXPECT_NEAR(run_step(plain, {batch}).metrics.at("entropy"), entropy, 1e-12);
  EXPECT_EQ(model->table().grad().abs().max().item<double>(), 0.0) << "no bonus, no gradient";
  GrpoLoss bonus(model, {.entropy_coefficient = 0.5});
  EXPECT_NEAR(run_step(bonus, {batch}).metrics.at("loss_entropy"), -0.5 * entropy, 1e-12);
}

TEST(GrpoLoss, TemperatureDividesTheLogits) {
  const auto model = table_model();
  const Batch batch = sampled(*model, three_ratios(), by_row({1, 2, 3, 4}), everything());
  const auto cooled = std::make_shared<TableModel>(model->table().detach() / 0.7);
  GrpoLoss of_temperature(model, {.temperature = 0.7}), of_cooled(cooled, {});
  const Step a = run_step(of_temperature, {batch}), b = run_step(of_cooled, {batch});
  EXPECT_NEAR(a.metrics.at("loss_objective"), b.metrics.at("loss_objective"), 1e-12);
  EXPECT_NEAR(a.metrics.at("entropy"), b.metrics.at("entropy"), 1e-12);
}

TEST(GrpoLoss, AStepWithoutTokensHasZeroLosses) {
  const auto model = table_model();
  GrpoLoss loss(model, {.entropy_coefficient = 0.1});
  const at::Tensor nothing = at::zeros({rows, places}, at::kBool);
  const Batch batch = sampled(*model, three_ratios(), by_row({1, 2, 3, 4}), nothing);
  for (const auto& [name, value] : run_step(loss, {batch}).metrics) EXPECT_EQ(value, 0.0) << name;
  EXPECT_EQ(model->table().grad().abs().max().item<double>(), 0.0);
}

TEST(GrpoLoss, RefusesWhatDoesNotFit) {
  const auto model = table_model();
  GrpoLoss loss(model, {});
  EXPECT_EQ(loss.loss_names(), (std::vector<std::string>{"loss_objective", "loss_entropy"}));
  const auto refused = [&](std::string_view name, const at::Tensor& tensor) {
    Batch batch = sampled(*model, three_ratios(), by_row({1, 2, 3, 4}), everything());
    batch.replace(name, tensor);
    EXPECT_THROW(run_step(loss, {batch}), ContractError) << name;
  };
  refused(key::advantage, normals({rows, 1}, 3));
  refused(key::mask, at::ones({rows, places}, at::kLong));
  refused(key::mask, at::ones({rows, places + 1}, at::kBool));
  refused(key::token_log_prob, at::zeros({rows, places}, at::kFloat));
  refused(key::label, at::full({rows, places}, vocabulary, at::kLong));
  EXPECT_THROW(GrpoLoss(model, {.clip_low = 1.5}), ContractError);
  EXPECT_THROW(GrpoLoss(model, {.temperature = 0}), ContractError);
}

}  // namespace
}  // namespace lockstep::losses
