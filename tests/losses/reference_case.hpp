// The losses of torchrl_losses.h5 as ours, each with its batch and with what a step over it gives, for
// whoever takes that step: a loss alone, or a learner.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/data/batch.hpp"
#include "lockstep/losses/loss.hpp"
#include "support/reference.hpp"

namespace lockstep::losses {

inline constexpr const char* reference_file = "torchrl_losses.h5";

// All in float64. Targets rest in the first step.
struct ReferenceCase {
  std::shared_ptr<Loss> loss;
  Batch batch;
  Metrics metrics;      // expected; the step may report more
  at::Tensor td_error;  // [rows], expected as row_td_error; undefined where the loss has none
  std::map<std::string, at::Tensor> gradients;  // of every trained parameter of loss->module(), by its name
};

// The file's groups that hold a loss, and sft_minor, the second loss of group sft. None without the file.
std::vector<std::string> reference_cases();
// One of those names.
ReferenceCase reference_case(const std::string& name);

// What the cases are made of, a function a kind of group.
ReferenceCase ppo_case(const test::ReferenceFile& file, const std::string& group);
ReferenceCase dqn_case(const test::ReferenceFile& file, const std::string& group);
ReferenceCase sac_case(const test::ReferenceFile& file, const std::string& group);
ReferenceCase td3_case(const test::ReferenceFile& file, const std::string& group);
ReferenceCase token_case(const test::ReferenceFile& file, const std::string& group);  // grpo, dapo, cispo
ReferenceCase sft_case(const test::ReferenceFile& file);
ReferenceCase minor_sft_case(const test::ReferenceFile& file);

}  // namespace lockstep::losses
