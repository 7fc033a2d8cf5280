// Reads the reference files of expected values (tests/data, or LOCKSTEP_REFERENCE_DIR). No tensors: values
// and shapes.
//
//   ReferenceFile file("torchrl_losses.h5");
//   for (const std::string& group : file.groups()) ...                     // "dqn", "ppo_clip", ...
//   auto reward = file.doubles("value/r");                                 // reward.shape, reward.values
//   torch: torch::from_blob(reward.values.data(), reward.shape, torch::kDouble).clone()
//   double gamma = file.number("value", "gamma");                          // an attribute of the group
//
// Every read throws std::runtime_error naming file and path when something is missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::test {

template <class T>
struct ReferenceArray {
  std::vector<std::int64_t> shape;  // empty for a scalar
  std::vector<T> values;            // row-major
};

class ReferenceFile {
 public:
  // `name` is relative to the reference folder, "gymnasium_steps.h5".
  explicit ReferenceFile(const std::string& name);
  ~ReferenceFile();
  ReferenceFile(const ReferenceFile&) = delete;
  ReferenceFile& operator=(const ReferenceFile&) = delete;

  static std::string folder();
  static bool exists(const std::string& name);

  // Names of the groups or datasets directly inside `group`, in name order.
  std::vector<std::string> groups(const std::string& group = "/") const;
  std::vector<std::string> datasets(const std::string& group) const;
  bool contains(const std::string& path) const;

  ReferenceArray<double> doubles(
      const std::string& path) const;  // any float or integer dataset, exactly widened
  ReferenceArray<std::int64_t> integers(const std::string& path) const;  // any integer dataset
  ReferenceArray<bool> booleans(const std::string& path) const;          // HDF5 enums FALSE 0, TRUE 1
  double scalar(const std::string& path) const;                          // a dataset of one element

  // Attributes of a group or dataset.
  std::vector<std::string> attributes(const std::string& path) const;
  double number(const std::string& path, const std::string& attribute) const;
  std::string text(const std::string& path, const std::string& attribute) const;

 private:
  std::string path_;
  std::int64_t file_;  // an HDF5 id
};

}  // namespace lockstep::test
