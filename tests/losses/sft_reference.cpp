// The group sft: summed log-probabilities of sequences under policy and reference, some positive, which no
// softmax gives. Here each is a sequence of one token, and all are lowered by the same amount: the likelihood
// loss grows by it, MinorSFT and the KL, which see only differences, stay. The file has no gradients; those
// here are the derivatives by log p, written out, times that of a softmax of two.
#include <algorithm>

#include "lockstep/losses/sft.hpp"
#include "reference_case.hpp"
#include "reference_group.hpp"
#include "token_models.hpp"

namespace lockstep::losses {
namespace {

struct Sequences {
  at::Tensor policy, reference;  // [rows], log p of the one token
  double lowered = 0;

  explicit Sequences(const ReferenceFile& file)
      : policy(tensor(file, "sft/slp")), reference(tensor(file, "sft/rlp")) {
    lowered = std::max(policy.max().item<double>(), reference.max().item<double>()) + 0.5;
    policy -= lowered;
    reference -= lowered;
  }
};

// Row i's token has logits of its own, log p of its label and log(1 - p). `slope` [rows] is the loss's
// derivative by log p.
ReferenceCase sequences_case(const Sequences& sequences, const SftOptions& options, const at::Tensor& slope) {
  const std::int64_t rows = sequences.policy.size(0);
  const at::Tensor other = 1 - sequences.policy.exp();
  ReferenceCase made;
  made.loss = std::make_shared<SftLoss>(
      std::make_shared<TableModel>(at::stack({sequences.policy, other.log()}, 1)), options);
  made.batch.add(key::tokens, at::arange(rows).view({rows, 1}));
  made.batch.add(key::label, at::zeros({rows, 1}, at::kLong));
  made.batch.add(key::mask, at::ones({rows, 1}, at::kBool));
  made.batch.add(key::reference_log_prob, sequences.reference.view({rows, 1}));
  made.gradients["table"] = at::stack({slope * other, -slope * other}, 1);
  return made;
}

}  // namespace

ReferenceCase sft_case(const ReferenceFile& file) {
  const Sequences sequences(file);
  const auto rows = static_cast<double>(sequences.policy.size(0));
  // d/dlog p of -log p, and of k3.
  const at::Tensor slope = (-1 + 1 - (sequences.reference - sequences.policy).exp()) / rows;
  ReferenceCase made = sequences_case(sequences, {.kl_coefficient = 1.0}, slope);
  made.metrics["loss_sft"] = file.scalar("sft/sft") + sequences.lowered;
  made.metrics["loss_kl_to_ref"] = tensor(file, "sft/k3").mean().item<double>();
  return made;
}

ReferenceCase minor_sft_case(const ReferenceFile& file) {
  const Sequences sequences(file);
  const auto rows = static_cast<double>(sequences.policy.size(0));
  const double beta = file.number("sft", "minor_beta");
  const at::Tensor slope = -beta / (1 + (beta * (sequences.policy - sequences.reference)).exp()) / rows;
  ReferenceCase made = sequences_case(sequences, {.minor_beta = beta}, slope);
  made.metrics["loss_sft"] = file.scalar("sft/minor");
  return made;
}

}  // namespace lockstep::losses
