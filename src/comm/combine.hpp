// Private: the element-wise reductions, in the one tree order (core/reduction_tree.hpp).
#pragma once

#include <cstddef>
#include <span>

#include "lockstep/comm/collectives.hpp"

namespace lockstep::comm {

// out[i] = inputs[0][i] op inputs[1][i] op ..., in tree order, for `count` elements. `out` may be one of the
// inputs. Each input is read once and `out` written once: intermediate sums stay in the cache. dtype float32,
// float64 or int64, else ContractError.
void combine(std::span<const std::byte* const> inputs, std::byte* out, std::size_t count, Dtype dtype,
             ReduceOp op);

// Throws ContractError, naming `call`, unless `combine` takes the dtype.
void require_reducible(Dtype dtype, Kind call);

}  // namespace lockstep::comm
