#include "lockstep/nn/initialization.hpp"

#include <ATen/ATen.h>

#include "lockstep/core/error.hpp"
#include "lockstep/core/hash.hpp"
#include "lockstep/core/random.hpp"

namespace lockstep::nn {

void orthogonal_(const at::Tensor& weight, double gain, std::uint64_t seed, const std::string& name) {
  if (weight.dim() != 2)
    throw ContractError("'" + name + "' is not a matrix; orthogonal_ needs [rows, cols]");
  const at::NoGradGuard no_grad;
  RandomStream stream(seed, StreamId::initialization, static_cast<std::uint32_t>(hash64(name)));
  at::Tensor normals = at::empty(weight.sizes(), at::kDouble);
  stream.fill_normal({normals.data_ptr<double>(), static_cast<std::size_t>(normals.numel())});

  // QR of the tall orientation; multiplying by the signs of R's diagonal makes the result uniform over
  // rotations.
  const bool wide = weight.size(0) < weight.size(1);
  const auto [q, r] = at::linalg_qr(wide ? normals.t() : normals);
  const at::Tensor tall = q * at::where(r.diagonal() < 0, -1.0, 1.0);
  weight.copy_((wide ? tall.t() : tall) * gain);
}

}  // namespace lockstep::nn
