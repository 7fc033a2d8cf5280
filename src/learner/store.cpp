#include "lockstep/learner/store.hpp"

#include <ATen/core/grad_mode.h>
#include <spdlog/fmt/fmt.h>

#include "lockstep/core/error.hpp"
#include "lockstep/data/tensor_dtype.hpp"

namespace lockstep::learner {

StateEntry whole_state(const at::Tensor& tensor, const std::string& name) {
  if (!tensor.is_contiguous())
    throw ContractError(
        fmt::format("tensor '{}' is not contiguous; make it so before it is trained or saved", name));
  StateView view;
  view.add_whole(name, dtype_of(tensor.scalar_type()), tensor.sizes().vec(), tensor.data_ptr());
  return view.entries.front();
}

void Store::follow(const std::vector<std::pair<at::Tensor, at::Tensor>>& targets, double tau) {
  const at::NoGradGuard no_gradient;
  for (const auto& [target, source] : targets) {
    at::Tensor into = target;
    if (tau == 1.0)
      into.copy_(source);
    else
      into.lerp_(source, tau);
  }
}

}  // namespace lockstep::learner
