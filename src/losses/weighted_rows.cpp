#include "weighted_rows.hpp"

#include <ATen/ATen.h>

#include "add_values.hpp"
#include "entries.hpp"

namespace lockstep::losses {

void add_weighted_rows(const Batch& leaf, at::ScalarType type, Totals& totals) {
  const auto rows = static_cast<double>(leaf.rows());
  totals["rows"].add(rows);
  ExactSum& weight = totals["weight"];
  if (leaf.has(key::weight)) {
    add_values(per_row(leaf, key::weight, type), weight);
  } else {
    weight.add(rows);
  }
}

WeightedMean::WeightedMean(const Batch& leaf, at::ScalarType type, const Totals& totals) {
  const double weight = totals.at("weight").value();
  per_weight_ = weight == 0 ? 0.0 : 1 / weight;
  if (leaf.has(key::weight)) weight_ = per_row(leaf, key::weight, type);
}

at::Tensor WeightedMean::operator()(const at::Tensor& values) const {
  return (weight_.defined() ? weight_ * values : values).sum() * per_weight_;
}

at::Tensor bootstrap(const Batch& leaf, const at::Tensor& next_value, double gamma) {
  const at::Tensor& terminated = per_row(leaf, key::terminated, at::kBool);
  const at::Tensor& reward = per_row(leaf, key::reward, next_value.scalar_type());
  return reward + gamma * next_value.masked_fill(terminated, 0);
}

at::Tensor row_sum(const at::Tensor& values) {
  return values.detach().sum(at::kDouble);
}

void add_value_outputs(const at::Tensor& q, const at::Tensor& target, const at::Tensor& td_error,
                       Outputs& outputs) {
  const at::Tensor error = td_error.detach();
  outputs.emplace_back("q", row_sum(q));
  outputs.emplace_back("target", row_sum(target));
  outputs.emplace_back("td_error", row_sum(error));
  outputs.emplace_back("max_td_error", error.numel() > 0 ? error.max() : at::zeros({}, error.options()));
  outputs.emplace_back("row_td_error", error);
}

void add_value_metrics(const std::map<std::string, double>& sums, const Totals& totals, Metrics& metrics) {
  const double rows = totals.at("rows").value();
  for (const char* name : {"q", "target", "td_error"}) {
    metrics[std::string(name) + "_mean"] = rows > 0 ? sums.at(name) / rows : 0.0;
  }
  metrics["max_td_error"] = sums.at("max_td_error");
}

}  // namespace lockstep::losses
