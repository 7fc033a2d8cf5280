// Supervised fine-tuning: the likelihood of given responses.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "lockstep/losses/loss.hpp"
#include "lockstep/nn/token_model.hpp"

namespace lockstep::losses {

struct SftOptions {
  double kl_coefficient = 0.0;         // of k3 to the reference
  std::optional<double> minor_beta{};  // MinorSFT instead of the likelihood (Xie et al., 2024)
};

// A leaf's share of a mean over the step's `sequences` (0 for none of them), of each sequence's
// log-probability [rows]: of -log p, and for MinorSFT of -log sigmoid(beta (log p - log p of the reference)).
at::Tensor likelihood_loss(const at::Tensor& log_prob, double sequences);
at::Tensor minor_sft_loss(const at::Tensor& log_prob, const at::Tensor& reference_log_prob, double beta,
                          double sequences);

// A sequence's log-probability is the mean over its n tokens under the mask, sum m log p / max(1, n).
// loss_sft is the mean of its negative, or of MinorSFT's term, over the step's sequences; with a coefficient
// loss_kl_to_ref = kl_coefficient times the mean of k3 over the step's tokens under the mask. A sequence
// without tokens counts with log-probability 0.
//
// Batch entries: tokens, label [rows, t] int64, mask [rows, t] bool, and with a coefficient or MinorSFT
// reference_log_prob [rows, t] in the model's dtype. Totals: rows, tokens. Outputs: the losses; sums
// log_prob, correct (tokens whose label is the first arg-max), kl (with a coefficient). Metrics: the losses;
// perplexity = exp(-mean log p a token), token_accuracy, valid_tokens, kl_to_ref (with a coefficient); 0 for
// a step without tokens.
class SftLoss : public Loss {
 public:
  SftLoss(std::shared_ptr<nn::TokenModel> model, const SftOptions& options);
  torch::nn::Module& module() override { return *model_; }
  void add_totals(const Batch& leaf, Totals& totals) const override;
  Outputs forward(const Batch& leaf, const Totals& totals) override;
  Metrics finish(const std::map<std::string, double>& sums, const Totals& totals) const override;
  std::vector<std::string> loss_names() const override;

 private:
  bool with_kl() const noexcept { return options_.kl_coefficient != 0; }
  at::Tensor objective(const Batch& leaf, const at::Tensor& log_prob, double sequences) const;
  at::Tensor reference(const Batch& leaf) const;

  std::shared_ptr<nn::TokenModel> model_;
  SftOptions options_;
};

}  // namespace lockstep::losses
