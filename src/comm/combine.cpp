#include "combine.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "lockstep/core/error.hpp"
#include "lockstep/core/reduction_tree.hpp"

namespace lockstep::comm {
namespace {

struct Sum {
  template <class T>
  T operator()(T a, T b) const noexcept {
    return a + b;
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const noexcept {
    return a < b ? b : a;
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const noexcept {
    return b < a ? b : a;
  }
};

// `out` may be `a` or `b`, never a shifted view of them: that is what ivdep promises the vectoriser.
template <class T, class Op>
void apply(const T* a, const T* b, T* out, std::size_t count, Op op) noexcept {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) out[i] = op(a[i], b[i]);
}

// One block of scratch an input must fit the cache together.
std::size_t block_elements(std::size_t inputs, std::size_t element) noexcept {
  constexpr std::size_t scratch_bytes = 128 << 10;
  return std::clamp<std::size_t>(scratch_bytes / inputs, 1 << 10, 16 << 10) / element;
}

template <class T, class Op>
class TreeCombiner {
 public:
  TreeCombiner(std::vector<const T*> inputs, T* out, std::size_t count, Op op)
      : inputs_(std::move(inputs)),
        out_(out),
        count_(count),
        op_(op),
        block_(block_elements(inputs_.size(), sizeof(T))),
        scratch_(std::make_unique_for_overwrite<T[]>(block_ * inputs_.size())) {}

  void run() {
    for (std::size_t start = 0; start < count_; start += block_)
      run_block(start, std::min(block_, count_ - start));
  }

 private:
  void run_block(std::size_t start, std::size_t count) {
    std::vector<const T*> value(inputs_.size());
    for (std::size_t i = 0; i < value.size(); ++i) value[i] = inputs_[i] + start;
    std::size_t left = inputs_.size() - 1;
    tree_combine(inputs_.size(), [&](std::size_t into, std::size_t from) {
      T* target = --left == 0 ? out_ + start : scratch_.get() + into * block_;
      apply(value[into], value[from], target, count, op_);
      value[into] = target;
    });
  }

  std::vector<const T*> inputs_;
  T* out_;
  std::size_t count_;
  Op op_;
  std::size_t block_;
  std::unique_ptr<T[]> scratch_;
};

template <class T, class Op>
void combine_typed(std::span<const std::byte* const> inputs, std::byte* raw_out, std::size_t count, Op op) {
  std::vector<const T*> typed(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) typed[i] = reinterpret_cast<const T*>(inputs[i]);
  T* out = reinterpret_cast<T*>(raw_out);
  if (inputs.size() == 1) {
    if (out != typed[0]) std::memcpy(out, typed[0], count * sizeof(T));
  } else if (inputs.size() == 2) {
    apply(typed[0], typed[1], out, count, op);
  } else {
    TreeCombiner<T, Op>(std::move(typed), out, count, op).run();
  }
}

template <class T>
void combine_op(std::span<const std::byte* const> inputs, std::byte* out, std::size_t count, ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return combine_typed<T>(inputs, out, count, Sum{});
    case ReduceOp::max:
      return combine_typed<T>(inputs, out, count, Max{});
    case ReduceOp::min:
      return combine_typed<T>(inputs, out, count, Min{});
  }
}

}  // namespace

void combine(std::span<const std::byte* const> inputs, std::byte* out, std::size_t count, Dtype dtype,
             ReduceOp op) {
  if (count == 0) return;
  switch (dtype) {
    case Dtype::float32:
      return combine_op<float>(inputs, out, count, op);
    case Dtype::float64:
      return combine_op<double>(inputs, out, count, op);
    case Dtype::int64:
      return combine_op<std::int64_t>(inputs, out, count, op);
    default:
      throw ContractError(
          fmt::format("cannot reduce {}: float32, float64 or int64 is needed", to_string(dtype)));
  }
}

void require_reducible(Dtype dtype, Kind call) {
  if (dtype == Dtype::float32 || dtype == Dtype::float64 || dtype == Dtype::int64) return;
  throw ContractError(fmt::format("{}: {} cannot be reduced; float32, float64 or int64 is needed",
                                  to_string(call), to_string(dtype)));
}

}  // namespace lockstep::comm
