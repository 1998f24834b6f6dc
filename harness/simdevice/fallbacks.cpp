// The fallback that hides: the kernel copies to the CPU, computes there and copies back. The
// visible one is torch's at::native::cpu_fallback.

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <utility>

#include "harness/simdevice/call.h"
#include "harness/simdevice/device.h"
#include "harness/simdevice/effects.h"

namespace opreplay::sim {
namespace {

using c10::IValue;

/// Device tensors and their copies on the CPU.
class CpuCopies {
 public:
  IValue to_cpu(const IValue& value) {
    if (value.isDevice()) return c10::Device(c10::kCPU);
    if (value.isGenerator()) return host_generator(value.toGenerator());
    return with_tensors(value, [this](const at::Tensor& tensor) { return copy(tensor); });
  }

  IValue to_device(const IValue& value) const {
    return with_tensors(value, [this](const at::Tensor& tensor) { return move_back(tensor); });
  }

  /// Copies what the CPU kernel wrote into arguments.
  void write_back(const IValue& device) const {
    for (const at::Tensor& tensor : tensors_of(device))
      for (const auto& [ours, copy] : pairs_)
        if (ours.is_same(tensor)) {
          if (ours.sizes() != copy.sizes()) ours.resize_(copy.sizes());
          ours.copy_(copy);
        }
  }

 private:
  at::Tensor copy(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.is_privateuseone()) return tensor;
    for (const auto& [ours, copy] : pairs_)
      if (ours.is_same(tensor)) return copy;
    pairs_.emplace_back(tensor, tensor.to(c10::kCPU));
    return pairs_.back().second;
  }
  at::Tensor move_back(const at::Tensor& tensor) const {
    for (const auto& [ours, copy] : pairs_)
      if (copy.is_same(tensor)) return ours;
    return tensor.defined() ? tensor.to(k_device) : tensor;
  }

  std::vector<std::pair<at::Tensor, at::Tensor>> pairs_;
};

}  // namespace

void run_on_cpu_silently(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const auto& arguments = op.schema().arguments();
  const std::vector<IValue> args = torch::jit::pop(stack, arguments.size());
  CpuCopies copies;
  torch::jit::Stack host;
  for (const IValue& value : args) host.push_back(copies.to_cpu(value));
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &host);
  for (std::size_t i = 0; i < args.size(); ++i)
    if (is_written(arguments[i])) copies.write_back(args[i]);
  for (const IValue& result : host) stack.push_back(copies.to_device(result));
}

}  // namespace opreplay::sim
