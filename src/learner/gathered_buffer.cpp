#include "gathered_buffer.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include "flat_tensor.hpp"
#include "lockstep/data/tensor_dtype.hpp"

namespace lockstep::learner {
namespace {

// A flat tensor whose storage has no memory yet.
at::Tensor empty_shell(std::size_t elements, Dtype dtype) {
  const auto options = at::TensorOptions().dtype(scalar_type_of(dtype));
  const c10::Storage storage(c10::Storage::use_byte_size_t(), elements * size_of(dtype),
                             at::DataPtr(nullptr, at::kCPU), /*allocator=*/nullptr, /*resizable=*/false);
  return at::empty({0}, options).set_(storage, 0, {static_cast<std::int64_t>(elements)}, {1});
}

at::Tensor over(std::byte* data, std::size_t elements, Dtype dtype) {
  return at::from_blob(data, {static_cast<std::int64_t>(elements)},
                       at::TensorOptions().dtype(scalar_type_of(dtype)));
}

}  // namespace

GatheredBuffer::GatheredBuffer(const FlatBuffer& layout, const std::vector<ParameterSpec>& specs,
                               const std::vector<at::Tensor>& tensors, RankGrid& grid, UnitMemory& memory)
    : layout_(layout), collectives_(grid.group()), memory_(memory) {
  const auto rank = static_cast<std::size_t>(collectives_.rank());
  if (!layout.buckets.empty()) {  // a buffer of empty parameters has none
    begin_ = layout.buckets.front().cuts[rank];
    end_ = layout.buckets.front().cuts[rank + 1];
  }
  const std::size_t width = size_of(layout.dtype);
  slice_ = flat_tensor(staging::Buffer((end_ - begin_) * width, "slice"), end_ - begin_, layout.dtype);
  whole_ = empty_shell(layout.elements, layout.dtype);

  const std::size_t place = memory_.take();
  set_memory(memory_.data(place));
  for (const Placement& at : layout.placements) {
    at::Tensor tensor = tensors[at.parameter];
    at::Tensor view = view_of(whole_, at, specs[at.parameter].shape);
    view.copy_(tensor.detach());
    tensor.set_data(view);
  }
  // Every rank computed the same values if its libraries and processor are the same; rank 0's hold if not.
  grid.spread({memory_.data(place), layout.elements * width});
  memory_.used(place);
  copy_bytes(slice_.data_ptr(), memory_.data(place) + begin_ * width, (end_ - begin_) * width);
  set_memory(nullptr);
  memory_.give_back(place);
}

// Without memory, whoever reads a parameter is told so and not killed.
void GatheredBuffer::set_memory(std::byte* data) noexcept {
  c10::StorageImpl* storage = whole_.storage().unsafeGetStorageImpl();
  storage->clear_data_ptr_access_error_msg_();
  storage->set_data_ptr_noswap(at::DataPtr(data, at::kCPU));
  if (data == nullptr)
    storage->release_data_and_set_meta_custom_data_ptr_error_msg_(
        "this parameter is sharded and not gathered now: use it in the pass of its unit "
        "(lockstep/nn/unit.hpp), or "
        "while Learner::lend_weights holds");
}

void GatheredBuffer::open() {
  if (is_open()) return;
  const std::size_t width = size_of(layout_.dtype);
  parameters_at_ = memory_.take();
  std::byte* data = memory_.data(*parameters_at_);
  copy_bytes(data + begin_ * width, slice_.const_data_ptr(), (end_ - begin_) * width);
  if (collectives_.size() > 1 && !layout_.buckets.empty())
    collectives_.all_gather(data, layout_.buckets.front().cuts, layout_.dtype).wait();
  memory_.used(*parameters_at_);
  set_memory(data);
}

void GatheredBuffer::close() noexcept {
  if (!is_open()) return;
  set_memory(nullptr);
  memory_.give_back(*parameters_at_);
  parameters_at_.reset();
}

at::Tensor& GatheredBuffer::gradient() {
  if (!gradient_at_) {
    gradient_at_ = memory_.take();
    gradient_ = over(memory_.data(*gradient_at_), layout_.elements, layout_.dtype);
  }
  return gradient_;
}

at::Tensor GatheredBuffer::reduced(const at::Tensor& whole, comm::Reduction reduction) {
  if (collectives_.size() > 1 && !layout_.buckets.empty())
    collectives_.reduce_scatter(whole.data_ptr(), layout_.buckets.front().cuts, layout_.dtype, reduction)
        .wait();
  if (gradient_at_)
    memory_.used(*gradient_at_);
  else
    memory_.used_elsewhere();
  return narrowed(whole, begin_, end_ - begin_);
}

void GatheredBuffer::drop_gradient() noexcept {
  if (!gradient_at_) return;
  gradient_.reset();
  memory_.give_back(*gradient_at_);
  gradient_at_.reset();
}

}  // namespace lockstep::learner
