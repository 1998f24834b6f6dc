#include "harness/simdevice/alias.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/CPUAllocator.h>

#include "harness/simdevice/call.h"
#include "harness/simdevice/denormals.h"
#include "harness/simdevice/device.h"
#include "harness/simdevice/own_kernels.h"

namespace opreplay::sim {
namespace {

using c10::IValue;

constexpr c10::DispatchKeySet k_cpu_keys{c10::DispatchKey::CPU};
constexpr c10::DispatchKeySet k_device_keys{c10::DispatchKey::PrivateUse1};

at::Tensor with_geometry_of(const at::Tensor& model, c10::Storage storage,
                            c10::DispatchKeySet keys) {
  at::Tensor made =
      at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, model.dtype());
  auto* impl = made.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(model.sizes(), model.strides(), model.storage_offset());
  if (model.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
  if (model.is_conj()) made._set_conj(true);
  if (model.is_neg()) made._set_neg(true);
  return made;
}

/// Does not own the memory, but may be resized: the CPU kernel then allocates anew and
/// `adopt_changes` hands the new memory to the device tensor.
c10::Storage host_storage(const c10::Storage& device) {
  return c10::Storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), device.nbytes(),
      c10::DataPtr(device.mutable_data(), c10::Device(c10::kCPU)), c10::GetCPUAllocator(),
      device.resizable()));
}

/// Device memory that keeps the CPU allocation alive.
c10::DataPtr owning_pointer(const c10::Storage& host) {
  auto* owner = new c10::Storage(host);
  return {owner->mutable_data(), owner, [](void* p) { delete static_cast<c10::Storage*>(p); },
          k_device};
}

c10::Storage device_storage(const c10::Storage& host) {
  return c10::Storage(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(),
                                                            host.nbytes(), owning_pointer(host),
                                                            device_allocator(), true));
}

void require_strided(const at::Tensor& tensor) {
  TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == at::kStrided && !tensor.is_quantized(),
                              "the simulated device holds plain strided tensors only, found ",
                              tensor.toString());
}

bool is_generator(const c10::Argument& argument) {
  const auto* optional = argument.type()->castRaw<c10::OptionalType>();
  return optional != nullptr && optional->getElementType()->kind() == c10::TypeKind::GeneratorType;
}

}  // namespace

at::Tensor host_alias(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_privateuseone()) return tensor;
  require_strided(tensor);
  return with_geometry_of(tensor, host_storage(tensor.storage()), k_cpu_keys);
}

at::Tensor to_device(const at::Tensor& host) {
  if (!host.defined() || host.is_privateuseone()) return host;
  require_strided(host);
  return with_geometry_of(host, device_storage(host.storage()), k_device_keys);
}

at::Tensor Aliases::host_tensor(const at::Tensor& tensor, bool cpu_allowed) {
  if (!tensor.defined()) return tensor;
  if (!tensor.is_privateuseone()) {
    TORCH_CHECK(cpu_allowed || tensor.dim() == 0,
                "Expected all tensors to be on the same device, but found at least two devices, ",
                k_device, " and ", tensor.device(), "!");
    return tensor;
  }
  for (const TensorPair& pair : tensors_)
    if (pair.device.is_same(tensor)) return pair.host;
  require_strided(tensor);
  c10::Storage storage;
  for (const StoragePair& pair : storages_)
    if (pair.device.is_alias_of(tensor.storage())) storage = pair.host;
  if (!storage) {
    storage = host_storage(tensor.storage());
    storages_.push_back({tensor.storage(), storage});
  }
  tensors_.push_back({tensor, with_geometry_of(tensor, std::move(storage), k_cpu_keys)});
  return tensors_.back().host;
}

IValue Aliases::host(const IValue& value, const c10::Argument& argument) {
  if (value.isDevice()) return c10::Device(c10::kCPU);
  if (value.isGenerator()) return host_generator(value.toGenerator());
  // Without this, the CPU's default generator would serve the device.
  if (value.isNone() && is_generator(argument)) return host_generator(default_generator());
  // Indices may lie on the CPU.
  const bool cpu_allowed = value.isOptionalTensorList();
  return with_tensors(value,
                      [&](const at::Tensor& tensor) { return host_tensor(tensor, cpu_allowed); });
}

void Aliases::adopt_changes() {
  for (const StoragePair& pair : storages_) {
    if (pair.host.data() == pair.device.data() && pair.host.nbytes() == pair.device.nbytes())
      continue;
    c10::StorageImpl* device = pair.device.unsafeGetStorageImpl();
    if (pair.host.data() != pair.device.data())
      device->set_data_ptr_noswap(owning_pointer(pair.host));
    device->set_nbytes(pair.host.nbytes());
  }
  for (const TensorPair& pair : tensors_) {
    if (pair.host.sizes() == pair.device.sizes() && pair.host.strides() == pair.device.strides() &&
        pair.host.storage_offset() == pair.device.storage_offset())
      continue;
    pair.device.unsafeGetTensorImpl()->set_sizes_and_strides(pair.host.sizes(), pair.host.strides(),
                                                             pair.host.storage_offset());
  }
}

at::Tensor Aliases::device_tensor(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_privateuseone()) return tensor;
  for (const TensorPair& pair : tensors_)
    if (pair.host.is_same(tensor)) return pair.device;
  require_strided(tensor);
  c10::Storage storage;
  for (const StoragePair& pair : storages_)
    if (pair.host.is_alias_of(tensor.storage())) storage = pair.device;
  if (!storage) {
    storage = device_storage(tensor.storage());
    storages_.push_back({storage, tensor.storage()});
  }
  return with_geometry_of(tensor, std::move(storage), k_device_keys);
}

IValue Aliases::device(const IValue& value) {
  return with_tensors(value, [this](const at::Tensor& tensor) { return device_tensor(tensor); });
}

void cpu_kernel(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  op.redispatchBoxed(k_cpu_keys, &stack);
}

void run_aliased(const c10::OperatorHandle& op, torch::jit::Stack& stack, HostKernel kernel) {
  const auto& schema = op.schema();
  const std::size_t argument_count = schema.arguments().size();
  const std::size_t first = stack.size() - argument_count;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;

  Aliases aliases;
  torch::jit::Stack host;
  host.reserve(argument_count);
  for (std::size_t i = 0; i < argument_count; ++i)
    host.push_back(aliases.host(stack[first + i], schema.arguments()[i]));
  {
    const FlushDenormals flush(current_arithmetic().flush_denormals);
    kernel(op, host);
  }
  aliases.adopt_changes();
  stack.resize(first);
  for (const IValue& result : host) stack.push_back(aliases.device(result));
}

}  // namespace opreplay::sim
