#include "lockstep/data/batch.hpp"

#include <ATen/ATen.h>

#include <algorithm>

#include "lockstep/core/error.hpp"

namespace lockstep {
namespace {

std::string quoted(std::string_view name) {
  return "'" + std::string(name) + "'";
}

template <class Entries>
auto find(Entries& entries, std::string_view name) {
  return std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first == name; });
}

void require_rows(std::string_view name, const at::Tensor& tensor) {
  if (!tensor.defined()) throw ContractError("batch entry " + quoted(name) + " is an undefined tensor");
  if (tensor.dim() == 0) {
    throw ContractError("batch entry " + quoted(name) + " is a scalar; its first dimension must be rows");
  }
}

void require_same_rows(std::string_view name, const at::Tensor& tensor, std::int64_t rows) {
  if (tensor.size(0) != rows) {
    throw ContractError("batch entry " + quoted(name) + " has " + std::to_string(tensor.size(0)) +
                        " rows, the other entries have " + std::to_string(rows));
  }
}

}  // namespace

void Batch::add(std::string_view name, at::Tensor tensor) {
  if (has(name)) throw ContractError("batch already has an entry " + quoted(name));
  replace(name, std::move(tensor));
}

void Batch::replace(std::string_view name, at::Tensor tensor) {
  require_rows(name, tensor);
  const auto found = find(entries_, name);
  const bool alone = entries_.empty() || (found != entries_.end() && entries_.size() == 1);
  if (!alone) require_same_rows(name, tensor, rows());
  if (found != entries_.end()) {
    found->second = std::move(tensor);
  } else {
    entries_.emplace_back(std::string(name), std::move(tensor));
  }
}

const at::Tensor& Batch::at(std::string_view name) const {
  const auto found = find(entries_, name);
  if (found != entries_.end()) return found->second;
  std::string names;
  for (const auto& [present, tensor] : entries_) names += (names.empty() ? "" : ", ") + present;
  throw ContractError("batch has no entry " + quoted(name) + "; it has " + (names.empty() ? "none" : names));
}

bool Batch::has(std::string_view name) const noexcept {
  return find(entries_, name) != entries_.end();
}

std::int64_t Batch::rows() const noexcept {
  return entries_.empty() ? 0 : entries_.front().second.size(0);
}

Batch Batch::rows_at(const at::Tensor& index) const {
  if (index.dim() != 1 || index.scalar_type() != at::kLong) {
    throw ContractError("the index of Batch::rows_at must be int64 of shape [n]");
  }
  Batch chosen;
  chosen.entries_.reserve(entries_.size());
  for (const auto& [name, tensor] : entries_) {
    chosen.entries_.emplace_back(name, tensor.index_select(0, index));
  }
  return chosen;
}

Batch Batch::slice(std::int64_t begin, std::int64_t end) const {
  if (begin < 0 || begin > end || end > rows()) {
    throw ContractError("rows [" + std::to_string(begin) + ", " + std::to_string(end) +
                        ") do not lie in a batch of " + std::to_string(rows()) + " rows");
  }
  Batch part;
  part.entries_.reserve(entries_.size());
  for (const auto& [name, tensor] : entries_) {
    part.entries_.emplace_back(name, tensor.slice(0, begin, end));
  }
  return part;
}

}  // namespace lockstep
