#include "lockstep/losses/token_loss.hpp"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include "lockstep/core/error.hpp"

namespace lockstep::losses {
namespace {

void require_label(const at::Tensor& logits, const at::Tensor& label) {
  const bool fits = logits.dim() == 3 && label.dim() == 2 && label.scalar_type() == at::kLong &&
                    label.sizes() == logits.sizes().slice(0, 2);
  if (!fits) {
    throw ContractError(c10::str("logits [rows, t, vocabulary] need int64 labels [rows, t]; they are ",
                                 logits.sizes(), " and ", label.scalar_type(), " ", label.sizes()));
  }
  if (label.numel() == 0) return;
  const auto [smallest, largest] = at::aminmax(label);
  const auto low = smallest.item<std::int64_t>(), high = largest.item<std::int64_t>();
  if (low < 0 || high >= logits.size(2)) {
    throw ContractError(c10::str("labels must lie in [0, ", logits.size(2), "), the vocabulary; there is a ",
                                 low < 0 ? low : high, " (padding needs a label inside it too)"));
  }
}

}  // namespace

TokenStatistics token_statistics(const at::Tensor& logits, const at::Tensor& label, EntropyOf entropy) {
  require_label(logits, label);
  const at::Tensor all = at::log_softmax(logits, 2);
  TokenStatistics result{all.gather(2, label.unsqueeze(2)).squeeze(2), {}};
  if (entropy == EntropyOf::nothing) return result;
  const at::Tensor source = entropy == EntropyOf::policy ? all : all.detach();
  result.entropy = -(source.exp() * source).sum(2);
  return result;
}

const at::Tensor& per_token(const Batch& leaf, std::string_view name, at::ScalarType type) {
  const at::Tensor& tensor = leaf.at(name);
  if (tensor.dim() != 2 || tensor.scalar_type() != type) {
    throw ContractError(c10::str("batch entry '", name, "' must be ", type, " of shape [rows, t], not ",
                                 tensor.scalar_type(), " of shape ", tensor.sizes()));
  }
  if (tensor.sizes() != leaf.at(key::label).sizes()) {
    throw ContractError(c10::str("batch entry '", name, "' has shape ", tensor.sizes(),
                                 "; it must be that of 'label', ", leaf.at(key::label).sizes()));
  }
  return tensor;
}

at::Tensor k3(const at::Tensor& log_prob, const at::Tensor& reference_log_prob) {
  const at::Tensor d = reference_log_prob - log_prob;
  return d.expm1() - d;
}

}  // namespace lockstep::losses
