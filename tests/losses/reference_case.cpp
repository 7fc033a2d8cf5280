#include "reference_case.hpp"

#include <algorithm>
#include <stdexcept>

namespace lockstep::losses {
namespace {

constexpr const char* minor_sft = "sft_minor";

// Groups of the file with nothing to differentiate, or that belong to other modules.
bool holds_no_loss(const std::string& group) {
  return group == "value" || group == "per" || group == "stepper";
}

}  // namespace

std::vector<std::string> reference_cases() {
  if (!test::ReferenceFile::exists(reference_file)) return {};
  std::vector<std::string> names = test::ReferenceFile(reference_file).groups();
  std::erase_if(names, holds_no_loss);
  if (std::ranges::find(names, "sft") != names.end()) names.emplace_back(minor_sft);
  return names;
}

ReferenceCase reference_case(const std::string& name) {
  const test::ReferenceFile file(reference_file);
  if (name.starts_with("ppo")) return ppo_case(file, name);
  if (name.starts_with("dqn")) return dqn_case(file, name);
  if (name.starts_with("sac")) return sac_case(file, name);
  if (name.starts_with("td3")) return td3_case(file, name);
  if (name == minor_sft) return minor_sft_case(file);
  if (name.starts_with("sft")) return sft_case(file);
  if (name.starts_with("grpo") || name.starts_with("dapo") || name.starts_with("cispo"))
    return token_case(file, name);
  throw std::runtime_error("group '" + name + "' of " + reference_file +
                           " is of a kind that has no case yet");
}

}  // namespace lockstep::losses
