// A state of every dtype and awkward shapes, spread over ranks in one of several ways, with known bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/data/state_view.hpp"

namespace lockstep::checkpoint {

struct ExampleTensor {
  std::string name;
  Dtype dtype;
  std::vector<std::int64_t> shape;
};

// Every dtype; scalar, empty, prime, many dimensions, larger than a chunk; names with '/', '%', spaces,
// UTF-8, braces.
inline std::vector<ExampleTensor> example_tensors() {
  return {{"model/float32", Dtype::float32, {7, 5, 3}},
          {"model/float64", Dtype::float64, {13}},
          {"model/bfloat16", Dtype::bfloat16, {3, 11}},
          {"model/float16", Dtype::float16, {17}},
          {"model/int32", Dtype::int32, {2, 2, 2, 2, 3}},
          {"model/uint8", Dtype::uint8, {251}},
          {"model/boolean", Dtype::boolean, {19}},
          {"model/scalar", Dtype::float64, {}},
          {"model/empty", Dtype::float32, {0, 4}},
          {"model/one", Dtype::int64, {1, 1, 1}},
          {"model/large", Dtype::float32, {101, 97}},
          {"model/" + escape_name("a/b % {} \n x"), Dtype::float32, {3}},
          {"model/größe.θ weight", Dtype::float32, {4}},
          {"training/optimizer/" + escape_name("a/b") + "/exp_avg", Dtype::float32, {3}},
          {"training/optimizer/" + escape_name("a/b") + "/step", Dtype::int64, {}},
          {"training/counters/steps", Dtype::int64, {}}};
}

// The byte at `index` of a tensor's row-major bytes.
inline std::byte example_byte(const ExampleTensor& tensor, std::uint64_t index) {
  std::uint64_t mixed = (index + 1) * 0x9E3779B97F4A7C15u + tensor.name.size() * 0xD1B54A32D192ED03u;
  mixed ^= mixed >> 29;
  mixed *= 0xBF58476D1CE4E5B9u;
  const auto byte = static_cast<std::uint8_t>(mixed >> 56);
  return tensor.dtype == Dtype::boolean ? std::byte(byte & 1) : std::byte(byte);
}

enum class Spread { replicated, sliced, cyclic, last_rank, overlapping };

// What `rank` of `size` holds, in storage of its own.
class ExampleState {
 public:
  ExampleState(std::vector<ExampleTensor> tensors, Spread spread, int rank, int size)
      : tensors_(std::move(tensors)), storage_(tensors_.size()) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) add(i, spread, rank, size);
  }
  const StateView& view() const { return view_; }

  void fill() {
    each([](const ExampleTensor& tensor, std::uint64_t index, std::byte& byte) {
      byte = example_byte(tensor, index);
    });
  }
  void clear() {
    each([](const ExampleTensor&, std::uint64_t, std::byte& byte) { byte = std::byte{0xEE}; });
  }
  // Name of the first tensor with a wrong byte; empty when all are right.
  std::string first_wrong() {
    std::string wrong;
    each([&](const ExampleTensor& tensor, std::uint64_t index, std::byte& byte) {
      if (wrong.empty() && byte != example_byte(tensor, index))
        wrong = tensor.name + " byte " + std::to_string(index);
    });
    return wrong;
  }

 private:
  void add(std::size_t index, Spread spread, int rank, int size) {
    const ExampleTensor& tensor = tensors_[index];
    StateEntry entry{tensor.name, tensor.dtype, tensor.shape, {}};
    const std::uint64_t n = entry.elements();
    storage_[index].resize(n * size_of(tensor.dtype) + 1);
    const auto ranks = static_cast<std::uint64_t>(size);
    const auto me = static_cast<std::uint64_t>(rank);
    const auto hold = [&](std::uint64_t begin, std::uint64_t end) {
      if (begin < end) {
        entry.extents.push_back({begin, end - begin, storage_[index].data() + begin * size_of(tensor.dtype)});
      }
    };
    switch (spread) {
      case Spread::replicated:
        hold(0, n);
        break;
      case Spread::sliced:
        hold(n * me / ranks, n * (me + 1) / ranks);
        break;
      case Spread::cyclic:
        for (std::uint64_t begin = 7 * me; begin < n; begin += 7 * ranks) hold(begin, std::min(begin + 7, n));
        break;
      case Spread::last_rank:
        if (me + 1 == ranks) hold(0, n);
        break;
      case Spread::overlapping:
        hold(n * me / (ranks + 1), std::min(n, n * (me + 2) / (ranks + 1)));
        break;
    }
    view_.entries.push_back(std::move(entry));
  }

  template <class Visit>
  void each(Visit&& visit) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const std::size_t width = size_of(tensors_[i].dtype);
      for (const Extent& extent : view_.entries[i].extents) {
        for (std::uint64_t b = 0; b < extent.length * width; ++b) {
          visit(tensors_[i], extent.offset * width + b, extent.data[b]);
        }
      }
    }
  }

  std::vector<ExampleTensor> tensors_;
  std::vector<std::vector<std::byte>> storage_;
  StateView view_;
};

}  // namespace lockstep::checkpoint
