#include "add_values.hpp"

#include <ATen/ATen.h>

namespace lockstep::losses {

void add_values(const at::Tensor& tensor, ExactSum& sum) {
  const at::Tensor values = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* data = values.const_data_ptr<double>();
  for (const double* value = data; value != data + values.numel(); ++value) sum.add(*value);
}

}  // namespace lockstep::losses
