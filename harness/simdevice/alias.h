#pragma once
/// Runs CPU kernels on device tensors: device memory is host memory, so each device tensor gets a
/// CPU tensor over the same bytes for the time of the call. Storage sharing between arguments is
/// kept, and results are mapped back: an argument stays the argument (in-place, out=), a view of
/// one becomes a device view, anything else a new device tensor that owns the CPU result's memory.

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <c10/util/FunctionRef.h>
#include <c10/util/SmallVector.h>

#include <utility>

namespace c10 {
class OperatorHandle;
struct Argument;
}  // namespace c10

namespace opreplay::sim {

/// A CPU tensor over the memory of `tensor` (itself if it is a CPU tensor). Requires that `tensor`
/// outlives it.
at::Tensor host_alias(const at::Tensor& tensor);

/// A device tensor that owns the memory of `host`; a tensor that is on the device stays as it is.
at::Tensor to_device(const at::Tensor& host);

/// The device's side of one set of arguments and its CPU side.
class Aliases {
 public:
  /// CPU tensors instead of device ones, CPU instead of the device, CPU generators instead of the
  /// device's. Throws where a device kernel would: a CPU tensor of rank > 0 among device tensors,
  /// a tensor without strides.
  c10::IValue host(const c10::IValue& value, const c10::Argument& argument);
  /// Takes over what the kernel did to the arguments themselves: storage grown, sizes changed.
  void adopt_changes();
  /// The device's side of a result.
  c10::IValue device(const c10::IValue& value);

 private:
  struct StoragePair {
    c10::Storage device, host;
  };
  struct TensorPair {
    at::Tensor device, host;
  };
  at::Tensor host_tensor(const at::Tensor& tensor, bool cpu_allowed);
  at::Tensor device_tensor(const at::Tensor& tensor);

  c10::SmallVector<StoragePair, 6> storages_;
  c10::SmallVector<TensorPair, 6> tensors_;
};

/// A kernel on CPU tensors: takes the arguments of `op` off the stack, puts the results on it.
using HostKernel = c10::function_ref<void(const c10::OperatorHandle& op, torch::jit::Stack& stack)>;

/// torch's own CPU kernel of `op`.
void cpu_kernel(const c10::OperatorHandle& op, torch::jit::Stack& stack);

/// Runs `kernel` on the device tensors of the stack.
void run_aliased(const c10::OperatorHandle& op, torch::jit::Stack& stack, HostKernel kernel);

}  // namespace opreplay::sim
