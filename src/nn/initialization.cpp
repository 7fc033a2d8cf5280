#include "lockstep/nn/initialization.hpp"

#include <ATen/ATen.h>

#include <cmath>

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

void fan_in_uniform_(Mlp& mlp, std::uint64_t seed, const std::string& prefix) {
  const at::NoGradGuard no_grad;
  double bound = 0;
  for (const auto& item : mlp.named_parameters()) {
    const at::Tensor& parameter = item.value();
    // Each layer's weight [outputs, inputs] comes before its bias.
    if (parameter.dim() == 2) bound = 1 / std::sqrt(static_cast<double>(parameter.size(1)));
    RandomStream stream(seed, StreamId::initialization,
                        static_cast<std::uint32_t>(hash64(prefix + "." + item.key())));
    at::Tensor values = at::empty(parameter.sizes(), at::kDouble);
    double* value = values.data_ptr<double>();
    for (std::int64_t i = 0; i < values.numel(); ++i) value[i] = stream.uniform(-bound, bound);
    parameter.copy_(values);
  }
}

}  // namespace lockstep::nn
