// The groups of losses over tokens: grpo, dapo, cispo.
#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep/losses/grpo.hpp"
#include "reference_case.hpp"
#include "reference_group.hpp"
#include "token_models.hpp"

namespace lockstep::losses {
namespace {

GrpoOptions options_of(const ReferenceFile& file, const std::string& group) {
  const auto attributes = file.attributes(group);
  const bool cispo = std::ranges::find(attributes, "form") != attributes.end();
  if (cispo) {
    EXPECT_EQ(file.text(group, "form"), "torchrl");
  }
  const std::string aggregation = file.text(group, "aggregation");
  EXPECT_TRUE(aggregation == "token_mean" || aggregation == "prompt_mean") << aggregation;
  return {.objective = cispo ? TokenObjective::cispo_torchrl : TokenObjective::clip,
          .aggregation = aggregation == "token_mean" ? Aggregation::token_mean : Aggregation::prompt_mean,
          .clip_low = file.number(group, "clip_low"),
          .clip_high = file.number(group, "clip_high"),
          .entropy_coefficient = file.number(group, "entropy_coefficient"),
          .kl_coefficient = file.number(group, "kl_coefficient"),
          .average_over_padding = true};
}

Batch token_batch(const ReferenceFile& file, const std::string& group) {
  const auto entry = [&](const std::string& name) { return tensor(file, group + "/" + name); };
  Batch batch;
  batch.add(key::tokens, entry("tok").to(at::kLong));
  batch.add(key::label, entry("tok").to(at::kLong));
  batch.add(key::mask, entry("mask").to(at::kBool));
  batch.add(key::token_log_prob, entry("old"));
  batch.add(key::reference_log_prob, entry("ref"));
  batch.add(key::advantage, entry("adv").select(2, 0).select(1, 0));
  return batch;
}

}  // namespace

ReferenceCase token_case(const ReferenceFile& file, const std::string& group) {
  const auto shape = file.doubles(group + "/w.e.weight").shape;
  const auto model = std::make_shared<EmbeddingModel>(shape[0], shape[1]);
  ReferenceCase made;
  made.loss = std::make_shared<GrpoLoss>(model, options_of(file, group));
  made.batch = token_batch(file, group);
  made.metrics = out_metrics(file, group);
  EXPECT_GE(made.metrics.size(), 8u);
  const at::NoGradGuard no_grad;
  for (const auto& item : model->named_parameters()) {
    item.value().copy_(tensor(file, group + "/w." + item.key()));
    made.gradients[item.key()] = tensor(file, group + "/g." + item.key());
  }
  return made;
}

}  // namespace lockstep::losses
