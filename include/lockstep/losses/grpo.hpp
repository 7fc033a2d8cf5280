// Policy optimisation over tokens with group-relative advantages: GRPO (Shao et al., "DeepSeekMath", 2024),
// Dr.GRPO (Liu et al., "Understanding R1-Zero-Like Training", 2025), DAPO (Yu et al., 2025), CISPO (MiniMax,
// "MiniMax-M1", 2025).
#pragma once

#include <cstdint>
#include <memory>

#include "lockstep/losses/loss.hpp"
#include "lockstep/nn/token_model.hpp"

namespace lockstep::losses {

enum class TokenObjective : std::uint8_t {
  clip,           // min(e^w A, e^clamp(w) A): GRPO; DAPO with clip (0.2, 0.28)
  cispo,          // sg(e^clamp(w)) A log pi: clipped tokens keep a gradient
  cispo_torchrl,  // e^clamp(w) A: clipped tokens have none
};
enum class Aggregation : std::uint8_t {
  token_mean,   // over all valid tokens of the step
  prompt_mean,  // over a sequence's valid tokens, then over the step's sequences
};

struct GrpoOptions {
  TokenObjective objective = TokenObjective::clip;
  Aggregation aggregation = Aggregation::token_mean;
  double clip_low = 0.2, clip_high = 0.2;  // ratio clipped to [1 - low, 1 + high]
  double entropy_coefficient = 0.0;
  double kl_coefficient = 0.0;  // of k3 to the reference; with 0 the batch needs no reference_log_prob
  double temperature = 1.0;     // logits are divided by it, as they were when the tokens were sampled
  // TorchRL 0.14 divides the KL, kl_approx, clip_fraction and entropy's metric by all places, padding
  // counted as 0. For comparisons with it.
  bool average_over_padding = false;
};

// With w = log pi - token_log_prob at a valid token (mask set, and both token_log_prob and, where it is used,
// reference_log_prob finite): loss_objective = -aggregate(objective), loss_entropy = -entropy_coefficient
// aggregate(H), loss_kl_to_ref = kl_coefficient mean over valid tokens of k3 (with a coefficient). The
// denominators are the step's. A sequence without a valid token counts as a row of prompt_mean with mean 0.
//
// Batch entries: tokens, label [rows, t] int64, mask [rows, t] bool, token_log_prob and, with a KL
// coefficient, reference_log_prob [rows, t], advantage [rows], in the model's dtype. Totals: rows, places,
// tokens (valid). Outputs: the losses; sums clipped, log_ratio, ratio, ratio_squared, entropy, gap, and kl
// (with a coefficient); max_ratio, max_gap. Metrics: the losses; clip_fraction (share of tokens with w
// outside [log1p(-low), log1p(high)]), kl_approx = -mean w, ess = (sum e^w)^2 / sum e^2w / tokens,
// mean_ratio, max_ratio, entropy, kl_to_ref (with a coefficient), log_prob_gap = mean |w| and
// max_log_prob_gap = max |w|, valid_tokens; 0 for a step without tokens.
class GrpoLoss : public Loss {
 public:
  GrpoLoss(std::shared_ptr<nn::TokenModel> model, const GrpoOptions& options);
  torch::nn::Module& module() override { return *model_; }
  void add_totals(const Batch& leaf, Totals& totals) const override;
  Outputs forward(const Batch& leaf, const Totals& totals) override;
  Metrics finish(const std::map<std::string, double>& sums, const Totals& totals) const override;
  std::vector<std::string> loss_names() const override;

 private:
  bool with_kl() const noexcept { return options_.kl_coefficient != 0; }
  at::Tensor valid(const Batch& leaf) const;  // [rows, t] bool
  // This leaf's share of the mean over the step, by the aggregation.
  at::Tensor aggregate(const at::Tensor& values, const at::Tensor& valid, const Totals& totals) const;
  at::Tensor gain(const at::Tensor& w, const at::Tensor& log_prob, const at::Tensor& advantage) const;
  void add_metrics(const at::Tensor& w, const at::Tensor& entropy, const at::Tensor& counted,
                   Outputs& outputs) const;
  // What the KL and the metrics are divided by: valid tokens, or all places in TorchRL's way.
  double averaged(const Totals& totals) const;

  std::shared_ptr<nn::TokenModel> model_;
  GrpoOptions options_;
};

}  // namespace lockstep::losses
