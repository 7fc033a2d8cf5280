// The groups of torchrl_losses.h5 that this module implements, value by value and gradient by gradient.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/losses/ppo.hpp"
#include "lockstep/losses/value_estimators.hpp"
#include "step.hpp"
#include "support/reference.hpp"

namespace lockstep::losses {
namespace {

using test::ReferenceFile;

const char* const file_name = "torchrl_losses.h5";

at::Tensor tensor(const ReferenceFile& file, const std::string& path) {
  auto array = file.doubles(path);
  return at::from_blob(array.values.data(), array.shape, at::kDouble).clone();
}

void expect_close(const at::Tensor& ours, const at::Tensor& expected, const std::string& what) {
  ASSERT_EQ(ours.sizes(), expected.sizes()) << what;
  const double error = ((ours - expected).abs() / (1 + expected.abs())).max().item<double>();
  EXPECT_LE(error, 1e-12) << what;
}

void check_value_group(const ReferenceFile& file, const std::string& group) {
  // (B, T, 1) in the file, [T, n] here.
  const auto entry = [&](const std::string& name) {
    return tensor(file, group + "/" + name).squeeze(2).t().contiguous();
  };
  const Trajectory trajectory{entry("r"), entry("v"), entry("nv"), entry("term").to(at::kBool),
                              entry("done").to(at::kBool)};
  const at::Tensor settings = tensor(file, group + "/gamma_lambda");
  const double gamma = settings[0].item<double>(), lambda = settings[1].item<double>();
  const ValueEstimate general = gae(trajectory, gamma, lambda);
  expect_close(general.advantage, entry("gae_adv"), "gae_adv");
  expect_close(general.target, entry("gae_tgt"), "gae_tgt");
  expect_close(td0(trajectory, gamma), entry("td0"), "td0");
  expect_close(td1(trajectory, gamma), entry("td1"), "td1");
  expect_close(td_lambda(trajectory, gamma, lambda), entry("tdlambda"), "tdlambda");
  const ValueEstimate corrected = vtrace(trajectory, entry("log_pi"), entry("log_mu"), gamma);
  expect_close(corrected.target, entry("vtrace_vs"), "vtrace_vs");
  expect_close(corrected.advantage, entry("vtrace_adv"), "vtrace_adv");
}

Distance distance_from(const std::string& name) {
  if (name == "l1") return Distance::l1;
  if (name == "l2") return Distance::l2;
  if (name == "smooth_l1") return Distance::smooth_l1;
  throw std::runtime_error("unknown distance " + name);
}

PpoOptions ppo_options(const ReferenceFile& file, const std::string& group) {
  PpoOptions options;
  options.clip_low = file.number(group, "clip_low");
  options.clip_high = file.number(group, "clip_high");
  options.value_clip = file.number(group, "value_clip");
  options.entropy_coefficient = file.number(group, "entropy_coefficient");
  options.value_coefficient = file.number(group, "critic_coefficient");
  options.normalize_advantage = file.number(group, "normalize_advantage") != 0;
  options.distance = distance_from(file.text(group, "critic_loss"));
  return options;
}

// Our parameter's name, and where the file keeps it: actor.2.weight is aw.0.2.weight, its gradient
// ag.module.0.module.0.2.weight.
std::string dataset_of(const std::string& name, bool gradient) {
  const std::string rest = name.substr(name.find('.') + 1);
  if (name.starts_with("actor.")) return (gradient ? "ag.module.0.module.0." : "aw.0.") + rest;
  return (gradient ? "cg.module." : "cw.") + rest;
}

std::shared_ptr<nn::ActorCritic> reference_network(const ReferenceFile& file, const std::string& group) {
  std::vector<std::int64_t> sizes{file.doubles(group + "/aw.0.0.weight").shape[1]};
  for (int place = 0; file.contains(group + "/aw.0." + std::to_string(place) + ".weight"); place += 2) {
    sizes.push_back(file.doubles(group + "/aw.0." + std::to_string(place) + ".weight").shape[0]);
  }
  const auto network = std::make_shared<nn::ActorCritic>(nn::ActorCriticOptions{
      sizes.front(), false, sizes.back() / 2, std::vector<std::int64_t>(sizes.begin() + 1, sizes.end() - 1),
      nn::Activation::tanh, nn::LogStd::state});
  network->to(at::kDouble);
  const at::NoGradGuard no_grad;
  for (auto& item : network->named_parameters()) {
    item.value().copy_(tensor(file, group + "/" + dataset_of(item.key(), false)));
  }
  return network;
}

Batch ppo_batch(const ReferenceFile& file, const std::string& group) {
  const auto entry = [&](const std::string& name) { return tensor(file, group + "/" + name); };
  Batch batch;
  batch.add(key::observation, entry("observation"));
  batch.add(key::action, entry("action"));
  batch.add(key::log_prob, entry("action_log_prob"));
  batch.add(key::advantage, entry("advantage").squeeze(1));
  batch.add(key::value_target, entry("value_target").squeeze(1));
  batch.add(key::value, entry("state_value").squeeze(1));
  return batch;
}

void expect_step(PpoLoss& loss, const std::vector<Batch>& leaves, const ReferenceFile& file,
                 const std::string& group) {
  const Step step = run_step(loss, leaves);
  int compared = 0;
  for (const std::string& dataset : file.datasets(group)) {
    if (!dataset.starts_with("out.")) continue;
    const std::string name = dataset == "out.ESS" ? "ess" : dataset.substr(4);
    const double expected = file.scalar(group + "/" + dataset);
    ASSERT_EQ(step.metrics.count(name), 1u) << name;
    EXPECT_NEAR(step.metrics.at(name), expected, 1e-12 * (1 + std::abs(expected))) << name;
    ++compared;
  }
  EXPECT_GE(compared, 11);
  for (const auto& item : loss.module().named_parameters()) {
    expect_close(item.value().grad(), tensor(file, group + "/" + dataset_of(item.key(), true)), item.key());
  }
}

void check_ppo_group(const ReferenceFile& file, const std::string& group) {
  PpoLoss loss(reference_network(file, group), ppo_options(file, group));
  const Batch batch = ppo_batch(file, group);
  const std::int64_t rows = batch.rows();
  expect_step(loss, {batch}, file, group);
  expect_step(loss, {batch.slice(0, rows / 2), batch.slice(rows / 2, rows)}, file, group);
  expect_step(loss, {batch.slice(0, 1), batch.slice(1, rows / 3), batch.slice(rows / 3, rows)}, file, group);
}

std::vector<std::string> groups_of_file() {
  return ReferenceFile::exists(file_name) ? ReferenceFile(file_name).groups() : std::vector<std::string>();
}

class TorchRlGroup : public testing::TestWithParam<std::string> {};

TEST_P(TorchRlGroup, Agrees) {
  const ReferenceFile file(file_name);
  const std::string& group = GetParam();
  if (group.starts_with("value")) return check_value_group(file, group);
  if (group.starts_with("ppo")) return check_ppo_group(file, group);
  if (group == "stepper") GTEST_SKIP() << "group 'stepper' belongs to the learner's tests";
  GTEST_SKIP() << "group '" << group << "' is not implemented yet";
}

INSTANTIATE_TEST_SUITE_P(File, TorchRlGroup, testing::ValuesIn(groups_of_file()),
                         [](const auto& group) { return group.param; });

TEST(TorchRlFile, IsThere) {
  EXPECT_TRUE(ReferenceFile::exists(file_name)) << ReferenceFile::folder();
}

}  // namespace
}  // namespace lockstep::losses
