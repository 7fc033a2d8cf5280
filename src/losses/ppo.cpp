#include "lockstep/losses/ppo.hpp"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <iterator>
#include <limits>

#include "add_values.hpp"
#include "advantage_moments.hpp"
#include "entries.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::losses {
namespace {

void require_options(const PpoOptions& o) {
  if (!(o.clip_low >= 0 && o.clip_low <= 1) || !(o.clip_high >= 0)) {
    throw ContractError(c10::str("PPO's clip must lie in [0, 1] below and be 0 or more above, not (",
                                 o.clip_low, ", ", o.clip_high, ")"));
  }
  if (o.value_clip && !(*o.value_clip > 0)) {
    throw ContractError(c10::str("PPO's value_clip must be positive, not ", *o.value_clip));
  }
}

double machine_epsilon(at::ScalarType type) {
  return type == at::kDouble ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

// Population variance from the sums of a shifted quantity and of its square.
double variance(double sum, double squares, double rows) {
  const double mean = sum / rows;
  return squares / rows - mean * mean;
}

}  // namespace

PpoLoss::PpoLoss(std::shared_ptr<nn::ActorCritic> network, const PpoOptions& options)
    : network_(std::move(network)), options_(options) {
  require_options(options_);
}

torch::nn::Module& PpoLoss::module() {
  return *network_;
}

void PpoLoss::set_clip(double low, double high) noexcept {
  options_.clip_low = low;
  options_.clip_high = high;
}

void PpoLoss::add_totals(const Batch& leaf, Totals& totals) const {
  totals["rows"].add(static_cast<double>(leaf.rows()));
  add_values(per_row(leaf, key::value_target, network_->dtype()), totals["value_target"]);
  if (options_.normalize_advantage) {
    add_advantage_moments(per_row(leaf, key::advantage, network_->dtype()), totals);
  }
}

Outputs PpoLoss::forward(const Batch& leaf, const Totals& totals) {
  const at::ScalarType type = network_->dtype();
  const double rows = totals.at("rows").value();
  const at::Tensor& observation = leaf.at(key::observation);
  const auto [log_prob, entropy] = nn::evaluate(network_->policy(observation), leaf.at(key::action));
  const auto [mean, deviation] =
      options_.normalize_advantage ? advantage_normalization(totals) : Normalization{};
  Outputs outputs = clipped_objective(
      {log_prob, entropy, per_row(leaf, key::log_prob, type), per_row(leaf, key::advantage, type)},
      {rows, options_.clip_low, options_.clip_high, options_.entropy_coefficient, mean, deviation});

  const at::Tensor old_value = options_.value_clip ? per_row(leaf, key::value, type) : at::Tensor();
  const double target_mean = rows > 0 ? totals.at("value_target").value() / rows : 0.0;
  Outputs of_critic =
      value_loss({network_->value(observation), per_row(leaf, key::value_target, type), old_value},
                 {rows, options_.value_coefficient, options_.distance, options_.value_clip, target_mean});
  // Losses first, as the header lists them.
  outputs.insert(outputs.begin() + 2, std::move(of_critic.front()));
  outputs.insert(outputs.end(), std::make_move_iterator(of_critic.begin() + 1),
                 std::make_move_iterator(of_critic.end()));
  return outputs;
}

Metrics PpoLoss::finish(const std::map<std::string, double>& sums, const Totals& totals) const {
  Metrics metrics = Loss::finish(sums, totals);
  const double rows = totals.at("rows").value();
  const auto ratio_of = [](double part, double whole) { return whole == 0 ? 0.0 : part / whole; };
  const auto share = [&](const char* name) { return ratio_of(sums.at(name), rows); };
  metrics["clip_fraction"] = share("clipped");
  metrics["kl_approx"] = -share("log_ratio");
  metrics["entropy"] = share("entropy");
  metrics["mean_ratio"] = share("ratio");
  metrics["max_ratio"] = sums.at("max_ratio");
  metrics["ess"] = ratio_of(sums.at("ratio") * share("ratio"), sums.at("ratio_squared"));
  if (options_.value_clip) metrics["value_clip_fraction"] = share("value_clipped");
  metrics["explained_variance"] = 0.0;
  if (rows > 0) {
    const double unexplained = variance(sums.at("residual"), sums.at("residual_squared"), rows);
    const double all = variance(sums.at("target"), sums.at("target_squared"), rows);
    metrics["explained_variance"] = 1 - unexplained / (all + machine_epsilon(network_->dtype()));
  }
  return metrics;
}

}  // namespace lockstep::losses
