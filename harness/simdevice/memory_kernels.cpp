// Allocation, copies and storage surgery on device tensors.

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/Resize.h>

#include <map>

#include "harness/simdevice/alias.h"
#include "harness/simdevice/device.h"
#include "harness/simdevice/explicit_kernels.h"

namespace opreplay::sim {
namespace {

using torch::jit::Stack;

constexpr c10::DispatchKeySet k_device_keys{c10::DispatchKey::PrivateUse1};

c10::ScalarType dtype_or_default(const c10::IValue& value) {
  return value.isNone() ? c10::get_default_dtype_as_scalartype() : value.toScalarType();
}

std::optional<c10::MemoryFormat> memory_format(const c10::IValue& value) {
  return value.isNone() ? std::nullopt : std::optional(value.toMemoryFormat());
}

// empty(size, *, dtype, layout, device, pin_memory, memory_format)
void empty(const c10::OperatorHandle&, Stack& stack) {
  const auto args = torch::jit::last(stack, 6);
  at::Tensor made =
      at::detail::empty_generic(args[0].toIntVector(), device_allocator(), k_device_keys,
                                dtype_or_default(args[1]), memory_format(args[5]));
  torch::jit::drop(stack, 6);
  torch::jit::push(stack, std::move(made));
}

// empty_strided(size, stride, *, dtype, layout, device, pin_memory)
void empty_strided(const c10::OperatorHandle&, Stack& stack) {
  const auto args = torch::jit::last(stack, 6);
  at::Tensor made = at::detail::empty_strided_generic(args[0].toIntVector(), args[1].toIntVector(),
                                                      device_allocator(), k_device_keys,
                                                      dtype_or_default(args[2]));
  torch::jit::drop(stack, 6);
  torch::jit::push(stack, std::move(made));
}

void transfer(const at::Tensor& from, const at::Tensor& to) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  // What an earlier launch left behind shows when its results are fetched.
  if (!to.is_privateuseone()) synchronize();
  host_alias(to).copy_(host_alias(from));
}

// _copy_from(self, dst, non_blocking)
void copy_from(const c10::OperatorHandle&, Stack& stack) {
  const auto args = torch::jit::last(stack, 3);
  at::Tensor to = args[1].toTensor();
  transfer(args[0].toTensor(), to);
  torch::jit::drop(stack, 3);
  torch::jit::push(stack, std::move(to));
}

// _copy_from_and_resize(self, dst)
void copy_from_and_resize(const c10::OperatorHandle&, Stack& stack) {
  const auto args = torch::jit::last(stack, 2);
  const at::Tensor from = args[0].toTensor();
  at::Tensor to = args[1].toTensor();
  to.resize_(from.sizes());
  transfer(from, to);
  torch::jit::drop(stack, 2);
  torch::jit::push(stack, std::move(to));
}

void local_scalar(const c10::OperatorHandle& op, Stack& stack) {
  synchronize();
  run_aliased(op, stack, &cpu_kernel);
}

void set_storage(const at::Tensor& self, const c10::Storage& storage, std::int64_t offset,
                 c10::IntArrayRef sizes, std::optional<c10::IntArrayRef> strides) {
  TORCH_CHECK(storage.device() == self.device(), "set_: expected a storage on ", self.device(),
              ", found one on ", storage.device());
  self.unsafeGetTensorImpl()->set_storage_keep_dtype(storage);
  std::vector<std::int64_t> row_major(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;)
    row_major[i - 1] = row_major[i] * std::max<std::int64_t>(sizes[i], 1);
  self.unsafeGetTensorImpl()->set_sizes_and_strides(
      sizes, strides ? *strides : c10::IntArrayRef(row_major), offset);
  at::native::checkInBoundsForStorage(self.sizes(), self.strides(), self.storage_offset(),
                                      self.dtype(), storage);
}

// set_.source_Storage(self, source)
void set_to_storage(const c10::OperatorHandle&, Stack& stack) {
  const auto args = torch::jit::last(stack, 2);
  at::Tensor self = args[0].toTensor();
  const c10::Storage storage = args[1].toStorage();
  const auto count = static_cast<std::int64_t>(storage.nbytes() / self.itemsize());
  set_storage(self, storage, 0, {count}, std::nullopt);
  torch::jit::drop(stack, 2);
  torch::jit::push(stack, std::move(self));
}

// set_.source_Storage_storage_offset(self, source, storage_offset, size, stride)
void set_to_part(const c10::OperatorHandle&, Stack& stack) {
  const auto args = torch::jit::last(stack, 5);
  at::Tensor self = args[0].toTensor();
  const auto sizes = args[3].toIntVector(), strides = args[4].toIntVector();
  set_storage(
      self, args[1].toStorage(), args[2].toInt(), sizes,
      strides.size() == sizes.size() ? std::optional<c10::IntArrayRef>(strides) : std::nullopt);
  torch::jit::drop(stack, 5);
  torch::jit::push(stack, std::move(self));
}

// set_.source_Tensor(self, source)
void set_to_tensor(const c10::OperatorHandle&, Stack& stack) {
  const auto args = torch::jit::last(stack, 2);
  at::Tensor self = args[0].toTensor();
  const at::Tensor source = args[1].toTensor();
  set_storage(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
  torch::jit::drop(stack, 2);
  torch::jit::push(stack, std::move(self));
}

// set_(self)
void set_to_nothing(const c10::OperatorHandle&, Stack& stack) {
  at::Tensor self = torch::jit::pop(stack).toTensor();
  const at::Tensor nothing =
      at::detail::empty_generic({0}, device_allocator(), k_device_keys, self.scalar_type(), {});
  set_storage(self, nothing.storage(), 0, {0}, std::nullopt);
  torch::jit::push(stack, std::move(self));
}

}  // namespace

StackKernel find_device_kernel(std::string_view qualified_name) {
  static const std::map<std::string_view, StackKernel> kernels{
      {"aten::empty.memory_format", &empty},
      {"aten::empty_strided", &empty_strided},
      {"aten::_copy_from", &copy_from},
      {"aten::_copy_from_and_resize", &copy_from_and_resize},
      {"aten::_local_scalar_dense", &local_scalar},
      {"aten::set_.source_Storage", &set_to_storage},
      {"aten::set_.source_Storage_storage_offset", &set_to_part},
      {"aten::set_.source_Tensor", &set_to_tensor},
      {"aten::set_", &set_to_nothing},
  };
  const auto found = kernels.find(qualified_name);
  return found == kernels.end() ? nullptr : found->second;
}

}  // namespace opreplay::sim
