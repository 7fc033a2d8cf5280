#include "flat_tensor.hpp"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/isfinite.h>
#include <spdlog/fmt/fmt.h>

#include "lockstep/core/error.hpp"
#include "lockstep/data/tensor_dtype.hpp"
#include "square_sum.hpp"

namespace lockstep::learner {

at::Tensor flat_tensor(const staging::Buffer& buffer, std::size_t elements, Dtype dtype) {
  auto* data = const_cast<std::byte*>(buffer.data());
  return at::from_blob(
      data, {static_cast<std::int64_t>(elements)}, [owner = buffer.owner()](void*) {},
      at::TensorOptions().dtype(scalar_type_of(dtype)));
}

at::Tensor view_of(const at::Tensor& flat, const Placement& place, const std::vector<std::int64_t>& shape) {
  return flat.narrow(0, static_cast<std::int64_t>(place.offset), static_cast<std::int64_t>(place.elements))
      .view(shape);
}

at::Tensor narrowed(const at::Tensor& flat, std::size_t begin, std::size_t length) {
  return flat.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(length));
}

namespace {

// Refuses what a flat buffer cannot hold or the reduction cannot sum.
void check_parameter(const NamedTensor& parameter) {
  const at::Tensor& tensor = parameter.tensor;
  const auto refuse = [&](const std::string& what) {
    throw ContractError(fmt::format("parameter '{}' {}", parameter.name, what));
  };
  if (!tensor.defined()) refuse("is undefined");
  if (!tensor.is_leaf() || !tensor.requires_grad())
    refuse("is no leaf that requires a gradient; leave it out of the groups");
  if (tensor.scalar_type() != at::kFloat && tensor.scalar_type() != at::kDouble)
    refuse(
        fmt::format("has dtype {}; float32 and float64 are supported", c10::toString(tensor.scalar_type())));
  if (!tensor.device().is_cpu())
    refuse(fmt::format("is on {}; this build trains on the CPU", tensor.device().str()));
}

}  // namespace

std::vector<ParameterSpec> specs_of(const std::vector<ParameterGroup>& groups) {
  std::vector<ParameterSpec> specs;
  for (std::size_t group = 0; group < groups.size(); ++group)
    for (const NamedTensor& parameter : groups[group].parameters) {
      check_parameter(parameter);
      specs.push_back({.name = parameter.name,
                       .shape = parameter.tensor.sizes().vec(),
                       .dtype = dtype_of(parameter.tensor.scalar_type()),
                       .group = group});
    }
  return specs;
}

void add_squares(const OwnedPart& part, const std::vector<Block>& blocks, ExactSum& sum) {
  for (const Block& block : blocks) {
    const std::size_t offset = block.offset - part.begin;
    sum.add(part.gradients.scalar_type() == at::kFloat
                ? square_sum(part.gradients.const_data_ptr<float>() + offset, block.elements)
                : square_sum(part.gradients.const_data_ptr<double>() + offset, block.elements));
  }
}

std::size_t first_non_finite_of(const FlatBuffer& buffer, const OwnedPart& part, std::size_t first) {
  for (const ParameterRun& run : runs_within(buffer, part.begin, part.end)) {
    const at::Tensor values = narrowed(part.gradients, run.buffer_offset - part.begin, run.length);
    if (run.parameter < first && !at::isfinite(values).all().item<bool>()) first = run.parameter;
  }
  return first;
}

void throw_outside_a_step(const std::string& parameter) {
  throw ContractError(
      fmt::format("parameter '{}' received a gradient outside a step; compute losses under a no-gradient "
                  "guard, or let the "
                  "learner run backward",
                  parameter));
}

}  // namespace lockstep::learner
