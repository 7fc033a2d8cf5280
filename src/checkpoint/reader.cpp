#include "lockstep/checkpoint/reader.hpp"

#include <spdlog/fmt/fmt.h>

#include <cstring>
#include <utility>

#include "checkpoint/comparison.hpp"
#include "checkpoint/hdf5/conventions.hpp"
#include "checkpoint/stored_file.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::checkpoint {

struct Reader::State {
  StoredFile file;
  std::int64_t round;
  std::vector<DatasetInfo> datasets;

  // The part of a dataset's name behind its group, as it was before escaping.
  std::string plain_name(const DatasetInfo& info) const {
    try {
      return unescape_name(info.name.substr(info.name.find('/') + 1));
    } catch (const ContractError& error) {
      throw CheckpointError(fmt::format("checkpoint {} cannot be used: {}", file.path(), error.what()));
    }
  }

  void require(const DatasetInfo& info, Dtype dtype) const {
    if (info.dtype == dtype && info.shape.size() == 1) return;
    throw CheckpointError(
        fmt::format("checkpoint {} cannot be used: /{} is {} with {} dimensions, not {} with one",
                    file.path(), info.name, to_string(info.dtype), info.shape.size(), to_string(dtype)));
  }

  void read_entry(const StateEntry& entry) const {
    const StoredDataset dataset = file.open(entry.name);
    const Comparison comparison({&entry}, {&dataset.info()});
    if (!comparison.equal()) throw CheckpointError(comparison.report(file.path()));
    for (const Extent& extent : entry.extents) {
      file.guarded([&] { dataset.read(extent.offset, extent.length, extent.data); });
    }
  }
};

Reader::Reader(const std::string& path, bool whole_file_verified) {
  StoredFile file = open_checkpoint(path, whole_file_verified);
  std::vector<DatasetInfo> datasets = file.list("model");
  const std::vector<DatasetInfo> training = file.list("training");
  datasets.insert(datasets.end(), training.begin(), training.end());
  const std::int64_t round = file.root_attribute(hdf5::round_attribute);
  state_ = std::make_unique<State>(State{std::move(file), round, std::move(datasets)});
}

Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

std::int64_t Reader::round() const noexcept {
  return state_->round;
}

const std::vector<DatasetInfo>& Reader::datasets() const noexcept {
  return state_->datasets;
}

std::map<std::string, std::vector<double>> Reader::history() const {
  std::map<std::string, std::vector<double>> history;
  for (const DatasetInfo& info : state_->file.list("history")) {
    state_->require(info, Dtype::float64);
    const auto bytes = read_bytes(info.name);
    std::vector<double>& values = history[state_->plain_name(info)];
    values.resize(bytes.size() / sizeof(double));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return history;
}

std::map<std::string, std::string> Reader::provenance() const {
  std::map<std::string, std::string> provenance;
  for (const DatasetInfo& info : state_->file.list("provenance")) {
    state_->require(info, Dtype::uint8);
    const auto bytes = read_bytes(info.name);
    provenance[state_->plain_name(info)].assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return provenance;
}

void Reader::check(const StateView& wanted, std::string_view prefix) const {
  std::vector<const StateEntry*> entries;
  for (const StateEntry& entry : wanted.entries) {
    if (entry.name.starts_with(prefix)) entries.push_back(&entry);
  }
  std::vector<const DatasetInfo*> stored;
  for (const DatasetInfo& info : state_->datasets) {
    if (info.name.starts_with(prefix)) stored.push_back(&info);
  }
  const Comparison comparison(entries, stored);
  if (!comparison.equal()) throw CheckpointError(comparison.report(state_->file.path()));
}

void Reader::read(const StateView& wanted, std::string_view prefix) const {
  for (const StateEntry& entry : wanted.entries) {
    if (entry.name.starts_with(prefix)) state_->read_entry(entry);
  }
}

std::vector<std::byte> Reader::read_bytes(const std::string& name) const {
  const StoredDataset dataset = state_->file.open(name);
  return state_->file.guarded([&] { return dataset.read_whole(); });
}

}  // namespace lockstep::checkpoint
