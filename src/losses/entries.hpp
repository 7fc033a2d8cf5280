// Batch entries with the shape and dtype that a loss needs. Each function throws ContractError, naming the
// entry, what it is and what it must be.
#pragma once

#include <string_view>

#include "lockstep/data/batch.hpp"

namespace lockstep::losses {

// [rows] of this dtype; a [rows, 1] is refused, since it would broadcast to an outer product.
const at::Tensor& per_row(const Batch& leaf, std::string_view name, at::ScalarType type);
// [rows, columns] of this dtype.
const at::Tensor& per_row(const Batch& leaf, std::string_view name, std::int64_t columns,
                          at::ScalarType type);
// [rows] int64, each in [0, count).
const at::Tensor& indices(const Batch& leaf, std::string_view name, std::int64_t count);

}  // namespace lockstep::losses
