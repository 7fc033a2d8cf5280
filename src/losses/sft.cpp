#include "lockstep/losses/sft.hpp"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <cmath>

#include "lockstep/core/error.hpp"
#include "lockstep/losses/token_loss.hpp"

namespace lockstep::losses {
namespace {

double per(double count) {
  return count > 0 ? 1 / count : 0.0;
}

}  // namespace

at::Tensor likelihood_loss(const at::Tensor& log_prob, double sequences) {
  return log_prob.sum() * -per(sequences);
}

at::Tensor minor_sft_loss(const at::Tensor& log_prob, const at::Tensor& reference_log_prob, double beta,
                          double sequences) {
  return at::log_sigmoid(beta * (log_prob - reference_log_prob)).sum() * -per(sequences);
}

SftLoss::SftLoss(std::shared_ptr<nn::TokenModel> model, const SftOptions& options)
    : model_(std::move(model)), options_(options) {
  if (options_.minor_beta && !(*options_.minor_beta > 0)) {
    throw ContractError(c10::str("MinorSFT's beta must be positive, not ", *options_.minor_beta));
  }
}

std::vector<std::string> SftLoss::loss_names() const {
  std::vector<std::string> names{"loss_sft"};
  if (with_kl()) names.emplace_back("loss_kl_to_ref");
  return names;
}

void SftLoss::add_totals(const Batch& leaf, Totals& totals) const {
  const at::Tensor& mask = per_token(leaf, key::mask, at::kBool);
  totals["rows"].add(static_cast<double>(leaf.rows()));
  totals["tokens"].add(static_cast<double>(mask.sum().item<std::int64_t>()));
}

at::Tensor SftLoss::objective(const Batch& leaf, const at::Tensor& log_prob, double sequences) const {
  const at::Tensor& mask = leaf.at(key::mask);
  const at::Tensor tokens = mask.sum(1).clamp_min(1).to(log_prob.scalar_type());
  const at::Tensor policy = log_prob.sum(1) / tokens;
  if (!options_.minor_beta) return likelihood_loss(policy, sequences);
  return minor_sft_loss(policy, reference(leaf).sum(1) / tokens, *options_.minor_beta, sequences);
}

// [rows, t], 0 outside the mask, whatever stands there.
at::Tensor SftLoss::reference(const Batch& leaf) const {
  return per_token(leaf, key::reference_log_prob, model_->dtype())
      .masked_fill(leaf.at(key::mask).logical_not(), 0);
}

Outputs SftLoss::forward(const Batch& leaf, const Totals& totals) {
  const at::Tensor& mask = per_token(leaf, key::mask, at::kBool);
  const at::Tensor& label = per_token(leaf, key::label, at::kLong);
  const at::Tensor logits = model_->logits(per_token(leaf, key::tokens, at::kLong));
  const at::Tensor log_prob =
      token_statistics(logits, label, EntropyOf::nothing).log_prob.masked_fill(mask.logical_not(), 0);
  Outputs outputs{{"loss_sft", objective(leaf, log_prob, totals.at("rows").value())}};
  if (with_kl()) {
    const at::Tensor kl = k3(log_prob, reference(leaf)).sum();
    outputs.emplace_back("loss_kl_to_ref", kl * (options_.kl_coefficient * per(totals.at("tokens").value())));
    outputs.emplace_back("kl", kl.detach().to(at::kDouble));
  }
  outputs.emplace_back("log_prob", log_prob.detach().sum(at::kDouble));
  const at::Tensor correct = (logits.detach().argmax(2) == label).logical_and(mask);
  outputs.emplace_back("correct", correct.sum(at::kDouble));
  return outputs;
}

Metrics SftLoss::finish(const std::map<std::string, double>& sums, const Totals& totals) const {
  Metrics metrics = Loss::finish(sums, totals);
  const double tokens = totals.at("tokens").value();
  metrics["perplexity"] = tokens > 0 ? std::exp(-sums.at("log_prob") / tokens) : 0.0;
  metrics["token_accuracy"] = sums.at("correct") * per(tokens);
  if (with_kl()) metrics["kl_to_ref"] = sums.at("kl") * per(tokens);
  metrics["valid_tokens"] = tokens;
  return metrics;
}

}  // namespace lockstep::losses
