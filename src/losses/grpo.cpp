#include "lockstep/losses/grpo.hpp"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <cmath>

#include "entries.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/losses/token_loss.hpp"

namespace lockstep::losses {
namespace {

void require_options(const GrpoOptions& o) {
  if (!(o.clip_low >= 0 && o.clip_low <= 1) || !(o.clip_high >= 0)) {
    throw ContractError(c10::str("the ratio's clip must lie in [0, 1] below and be 0 or more above, not (",
                                 o.clip_low, ", ", o.clip_high, ")"));
  }
  if (!(o.temperature > 0)) {
    throw ContractError(c10::str("the temperature must be positive, not ", o.temperature));
  }
}

double per(double count) {
  return count > 0 ? 1 / count : 0.0;
}

double token_count(const Totals& totals) {
  return totals.at("tokens").value();
}

at::Tensor sum_of(const at::Tensor& values) {
  return values.sum(at::kDouble);
}

at::Tensor largest(const at::Tensor& values) {
  return values.numel() > 0 ? values.max() : at::zeros({}, values.options());
}

}  // namespace

GrpoLoss::GrpoLoss(std::shared_ptr<nn::TokenModel> model, const GrpoOptions& options)
    : model_(std::move(model)), options_(options) {
  require_options(options_);
}

std::vector<std::string> GrpoLoss::loss_names() const {
  std::vector<std::string> names{"loss_objective", "loss_entropy"};
  if (with_kl()) names.emplace_back("loss_kl_to_ref");
  return names;
}

at::Tensor GrpoLoss::valid(const Batch& leaf) const {
  const at::Tensor& mask = per_token(leaf, key::mask, at::kBool);
  at::Tensor valid = mask.logical_and(per_token(leaf, key::token_log_prob, model_->dtype()).isfinite());
  if (with_kl()) {
    valid = valid.logical_and(per_token(leaf, key::reference_log_prob, model_->dtype()).isfinite());
  }
  return valid;
}

void GrpoLoss::add_totals(const Batch& leaf, Totals& totals) const {
  const at::Tensor counted = valid(leaf);
  totals["rows"].add(static_cast<double>(leaf.rows()));
  totals["places"].add(static_cast<double>(counted.numel()));
  totals["tokens"].add(static_cast<double>(counted.sum().item<std::int64_t>()));
}

double GrpoLoss::averaged(const Totals& totals) const {
  return options_.average_over_padding ? totals.at("places").value() : token_count(totals);
}

at::Tensor GrpoLoss::aggregate(const at::Tensor& values, const at::Tensor& valid,
                               const Totals& totals) const {
  const at::Tensor kept = values.masked_fill(valid.logical_not(), 0);
  if (options_.aggregation == Aggregation::token_mean) return kept.sum() * per(token_count(totals));
  const at::Tensor tokens = valid.sum(1).clamp_min(1).to(values.scalar_type());
  return (kept.sum(1) / tokens).sum() * per(totals.at("rows").value());
}

at::Tensor GrpoLoss::gain(const at::Tensor& w, const at::Tensor& log_prob,
                          const at::Tensor& advantage) const {
  const at::Tensor clipped = w.clamp(std::log1p(-options_.clip_low), std::log1p(options_.clip_high)).exp();
  switch (options_.objective) {
    case TokenObjective::cispo:
      return clipped.detach() * advantage * log_prob;
    case TokenObjective::cispo_torchrl:
      return clipped * advantage;
    case TokenObjective::clip:
      break;
  }
  return at::minimum(w.exp() * advantage, clipped * advantage);
}

Outputs GrpoLoss::forward(const Batch& leaf, const Totals& totals) {
  const at::ScalarType type = model_->dtype();
  const at::Tensor counted = valid(leaf), left_out = counted.logical_not();
  const at::Tensor& label = per_token(leaf, key::label, at::kLong);
  at::Tensor logits = model_->logits(per_token(leaf, key::tokens, at::kLong));
  if (options_.temperature != 1) logits = logits / options_.temperature;
  const bool bonus = options_.entropy_coefficient != 0;
  const auto [log_prob, entropy] =
      token_statistics(logits, label, bonus ? EntropyOf::policy : EntropyOf::metric);

  // At places left out w is 0: what stands there, finite or not, reaches neither sums nor gradients.
  const at::Tensor w = (log_prob - leaf.at(key::token_log_prob)).masked_fill(left_out, 0);
  const at::Tensor advantage = per_row(leaf, key::advantage, type).unsqueeze(1);
  Outputs outputs{{"loss_objective", -aggregate(gain(w, log_prob, advantage), counted, totals)},
                  {"loss_entropy", aggregate(entropy, counted, totals) * -options_.entropy_coefficient}};
  if (with_kl()) {
    const at::Tensor reference = leaf.at(key::reference_log_prob).masked_fill(left_out, 0);
    const at::Tensor kl = k3(log_prob.masked_fill(left_out, 0), reference).sum();
    outputs.emplace_back("loss_kl_to_ref", kl * (options_.kl_coefficient * per(averaged(totals))));
    outputs.emplace_back("kl", kl.detach().to(at::kDouble));
  }
  add_metrics(w.detach(), entropy.detach().masked_fill(left_out, 0), counted, outputs);
  return outputs;
}

void GrpoLoss::add_metrics(const at::Tensor& w, const at::Tensor& entropy, const at::Tensor& counted,
                           Outputs& outputs) const {
  const at::Tensor log_ratio = w.to(at::kDouble);
  const at::Tensor ratio = log_ratio.exp().masked_fill(counted.logical_not(), 0);
  const at::Tensor outside =
      (log_ratio < std::log1p(-options_.clip_low)).logical_or(log_ratio > std::log1p(options_.clip_high));
  const at::Tensor gap = log_ratio.abs();
  outputs.emplace_back("clipped", sum_of(outside));
  outputs.emplace_back("log_ratio", log_ratio.sum());
  outputs.emplace_back("ratio", ratio.sum());
  outputs.emplace_back("ratio_squared", ratio.square().sum());
  outputs.emplace_back("entropy", sum_of(entropy));
  outputs.emplace_back("gap", gap.sum());
  outputs.emplace_back("max_ratio", largest(ratio));
  outputs.emplace_back("max_gap", largest(gap));
}

Metrics GrpoLoss::finish(const std::map<std::string, double>& sums, const Totals& totals) const {
  Metrics metrics = Loss::finish(sums, totals);
  const double tokens = token_count(totals), whole = averaged(totals);
  metrics["clip_fraction"] = sums.at("clipped") * per(whole);
  metrics["kl_approx"] = -sums.at("log_ratio") * per(whole);
  metrics["entropy"] = sums.at("entropy") * per(whole);
  if (with_kl()) metrics["kl_to_ref"] = sums.at("kl") * per(whole);
  const double squares = sums.at("ratio_squared");
  metrics["ess"] = squares == 0 ? 0.0 : sums.at("ratio") * (sums.at("ratio") * per(tokens)) / squares;
  metrics["mean_ratio"] = sums.at("ratio") * per(tokens);
  metrics["max_ratio"] = sums.at("max_ratio");
  metrics["log_prob_gap"] = sums.at("gap") * per(tokens);
  metrics["max_log_prob_gap"] = sums.at("max_gap");
  metrics["valid_tokens"] = tokens;
  return metrics;
}

}  // namespace lockstep::losses
