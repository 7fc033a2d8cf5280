// The history of a run's metrics: one row a round, one column a metric. It goes into checkpoints, and
// metrics.jsonl is written from it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lockstep::app {

class History {
 public:
  using Row = std::map<std::string, double>;  // NaN stands for null

  History() = default;
  explicit History(std::map<std::string, std::vector<double>> columns);  // ContractError when lengths differ

  // A metric that a row lacks, or that earlier rows lacked, is NaN there.
  void append(const Row& row);
  void set_last(const std::string& metric, double value);
  Row row(std::size_t index) const;
  std::size_t rows() const noexcept { return rows_; }
  const std::map<std::string, std::vector<double>>& columns() const noexcept { return columns_; }

 private:
  std::map<std::string, std::vector<double>> columns_;
  std::size_t rows_ = 0;
};

// One line of metrics.jsonl without its newline: strict JSON, NaN and infinities as null, counts as integers,
// timings in a sub-object (left out when empty). Metrics that are null in a row are left out, but for
// return_mean.
std::string json_line(const History::Row& row, const std::map<std::string, double>& timings);

}  // namespace lockstep::app
