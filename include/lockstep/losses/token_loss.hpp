// What the losses over sequences of tokens share: rows are sequences, places their tokens.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "lockstep/data/batch.hpp"

namespace lockstep::losses {

// Whether the entropy is computed, and whether it carries a gradient.
enum class EntropyOf : std::uint8_t { nothing, metric, policy };

struct TokenStatistics {
  at::Tensor log_prob;  // [rows, t], of the labels
  at::Tensor entropy;   // [rows, t], of the whole distribution, not -log p of the label
};

// logits [rows, t, vocabulary], label [rows, t] int64 inside the vocabulary -> statistics in the logits'
// dtype, differentiable. ContractError where shapes or dtypes do not fit.
TokenStatistics token_statistics(const at::Tensor& logits, const at::Tensor& label, EntropyOf entropy);

// A batch entry [rows, t] of this dtype and of `label`'s shape; ContractError otherwise.
const at::Tensor& per_token(const Batch& leaf, std::string_view name, at::ScalarType type);

// The k3 estimate of KL(policy || reference) a token: e^d - 1 - d, d = reference - policy (Schulman,
// "Approximating KL divergence", 2020). Never negative.
at::Tensor k3(const at::Tensor& log_prob, const at::Tensor& reference_log_prob);

}  // namespace lockstep::losses
