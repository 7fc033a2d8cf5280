// Every loss of torchrl_losses.h5, value by value and gradient by gradient, and its value estimators.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lockstep/losses/sft.hpp"
#include "lockstep/losses/token_loss.hpp"
#include "lockstep/losses/value_estimators.hpp"
#include "reference_case.hpp"
#include "reference_group.hpp"
#include "step.hpp"

namespace lockstep::losses {
namespace {

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

// The formulas over sequences, element by element, on the whole and cut in two.
void check_sft_formulas(const ReferenceFile& file) {
  const at::Tensor policy = tensor(file, "sft/slp"), reference = tensor(file, "sft/rlp");
  const double beta = file.number("sft", "minor_beta");
  const auto rows = static_cast<double>(policy.size(0));
  expect_close(k3(policy, reference), tensor(file, "sft/k3"), "k3");
  for (const std::int64_t cut : {std::int64_t{0}, policy.size(0) / 2}) {
    at::Tensor likelihood = at::zeros({}, at::kDouble), minor = at::zeros({}, at::kDouble);
    for (const auto& [begin, length] :
         {std::pair(std::int64_t{0}, cut), std::pair(cut, policy.size(0) - cut)}) {
      const at::Tensor ours = policy.narrow(0, begin, length), theirs = reference.narrow(0, begin, length);
      likelihood += likelihood_loss(ours, rows);
      minor += minor_sft_loss(ours, theirs, beta, rows);
    }
    expect_close(likelihood, tensor(file, "sft/sft"), "sft");
    expect_close(minor, tensor(file, "sft/minor"), "minor");
  }
}

// Every frozen parameter has no gradient, every other one that of the file.
void expect_gradients(const ReferenceCase& reference) {
  for (const auto& item : reference.loss->module().named_parameters()) {
    if (item.value().requires_grad()) {
      expect_close(item.value().grad(), reference.gradients.at(item.key()), item.key());
    } else {
      EXPECT_TRUE(item.key().starts_with("target")) << item.key();
      EXPECT_FALSE(item.value().grad().defined()) << item.key();
    }
  }
}

class LossOfFile : public testing::TestWithParam<std::string> {};

TEST_P(LossOfFile, AgreesHoweverCut) {
  const ReferenceCase reference = reference_case(GetParam());
  for (const auto& leaves : cuts(reference.batch)) {
    const Step step = run_step(*reference.loss, leaves);
    for (const auto& [name, expected] : reference.metrics) {
      ASSERT_EQ(step.metrics.count(name), 1u) << name;
      expect_close(step.metrics.at(name), expected, name);
    }
    if (reference.td_error.defined()) {
      expect_close(step.rows.at("row_td_error"), reference.td_error, "row_td_error");
    }
    expect_gradients(reference);
  }
}

INSTANTIATE_TEST_SUITE_P(TorchRl, LossOfFile, testing::ValuesIn(reference_cases()),
                         [](const auto& group) { return group.param; });

TEST(TorchRlFile, ValueEstimatorsAgree) {
  check_value_group(ReferenceFile(reference_file), "value");
}

TEST(TorchRlFile, SftFormulasAgree) {
  check_sft_formulas(ReferenceFile(reference_file));
}

TEST(TorchRlFile, IsThere) {
  EXPECT_TRUE(ReferenceFile::exists(reference_file)) << ReferenceFile::folder();
}

}  // namespace
}  // namespace lockstep::losses
