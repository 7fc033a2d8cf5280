#include "lockstep/losses/loss.hpp"

#include <algorithm>

#include "lockstep/core/error.hpp"

namespace lockstep::losses {
namespace {

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

}  // namespace

Metrics Loss::finish(const std::map<std::string, double>& sums, const Totals& /*totals*/) const {
  Metrics metrics;
  for (const auto& [name, value] : sums) {
    if (is_loss(name)) metrics.emplace(name, value);
  }
  return metrics;
}

void Loss::set_due(const std::vector<std::string>& names) {
  const std::vector<std::string> own = loss_names();
  if (!std::ranges::is_permutation(names, own)) {
    throw ContractError("this loss computes all of its losses at every step (" + listed(own) +
                        "); it was asked for " + listed(names));
  }
}

}  // namespace lockstep::losses
