#include "lockstep/losses/loss.hpp"

namespace lockstep::losses {

Metrics Loss::finish(const std::map<std::string, double>& sums, const Totals& /*totals*/) const {
  Metrics metrics;
  for (const auto& [name, value] : sums) {
    if (is_loss(name)) metrics.emplace(name, value);
  }
  return metrics;
}

}  // namespace lockstep::losses
