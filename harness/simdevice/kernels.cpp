#include "harness/simdevice/kernels.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>

#include "harness/simdevice/alias.h"
#include "harness/simdevice/explicit_kernels.h"
#include "harness/simdevice/own_kernels.h"
#include "harness/simdevice/round_once.h"

namespace opreplay::sim {
namespace {

using c10::DispatchKey;
using c10::OperatorHandle;
using torch::jit::Stack;

/// The CPU's kernel on the same memory.
class AliasKernel final : public Kernel {
 public:
  explicit AliasKernel(StackKernel kernel) : kernel_(kernel) {}
  void run(const OperatorHandle& op, c10::DispatchKeySet, Stack& stack) const override {
    run_aliased(op, stack, kernel_);
  }

 private:
  StackKernel kernel_;
};

/// The CPU's kernel on the same memory; f16 and bf16 values computed in f32 and rounded once.
class RoundOnceKernel final : public Kernel {
 public:
  explicit RoundOnceKernel(StackKernel kernel) : kernel_(kernel) {}
  void run(const OperatorHandle& op, c10::DispatchKeySet, Stack& stack) const override {
    run_aliased(op, stack, [this](const OperatorHandle& called, Stack& host) {
      run_rounded_once(called, host, kernel_);
    });
  }

 private:
  StackKernel kernel_;
};

/// Works on device tensors itself.
class DeviceKernel final : public Kernel {
 public:
  explicit DeviceKernel(StackKernel kernel) : kernel_(kernel) {}
  void run(const OperatorHandle& op, c10::DispatchKeySet, Stack& stack) const override {
    kernel_(op, stack);
  }

 private:
  StackKernel kernel_;
};

/// The arguments as they are now: what shares memory with a written argument is copied.
std::vector<c10::IValue> values_before(const OperatorHandle& op, const Stack& host) {
  std::vector<c10::IValue> inputs(host.begin(), host.end());
  std::vector<at::Tensor> written;
  const auto& arguments = op.schema().arguments();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (arguments[i].alias_info() != nullptr && arguments[i].alias_info()->isWrite() &&
        inputs[i].isTensor())
      written.push_back(inputs[i].toTensor());
  for (c10::IValue& input : inputs)
    if (input.isTensor() && input.toTensor().defined() &&
        std::any_of(written.begin(), written.end(),
                    [&](const at::Tensor& t) { return t.is_alias_of(input.toTensor()); }))
      input = input.toTensor().clone();
  return inputs;
}

bool all_floating(const std::vector<at::Tensor>& outputs) {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const at::Tensor& t) { return t.defined() && t.is_floating_point(); });
}

/// The CPU's kernel for everything but the values, then the device's own sums.
class OwnOrderKernel final : public Kernel {
 public:
  OwnOrderKernel(StackKernel shapes, OwnKernel values) : shapes_(shapes), values_(values) {}

  void run(const OperatorHandle& op, c10::DispatchKeySet, Stack& stack) const override {
    run_aliased(op, stack, [this](const OperatorHandle& called, Stack& host) {
      const auto inputs = values_before(called, host);
      shapes_(called, host);
      std::vector<at::Tensor> outputs;
      for (const c10::IValue& result : host) outputs.push_back(result.toTensor());
      if (all_floating(outputs)) values_(current_arithmetic(), inputs, outputs);
    });
  }

 private:
  StackKernel shapes_;
  OwnKernel values_;
};

/// Redispatches with a key of a backend nobody registered: its table entry is torch's composite
/// kernel, and the inner calls dispatch on their tensors, that is, to this device again.
class Decomposition final : public Kernel {
 public:
  void run(const OperatorHandle& op, c10::DispatchKeySet keys, Stack& stack) const override {
    const bool above_autograd = keys.has(DispatchKey::AutogradPrivateUse1);
    op.redispatchBoxed(c10::DispatchKeySet(above_autograd ? DispatchKey::AutogradPrivateUse2
                                                          : DispatchKey::PrivateUse2),
                       &stack);
  }
};

}  // namespace

std::string qualified_name(const OperatorHandle& op) {
  const c10::OperatorName& name = op.operator_name();
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

bool is_composite_implicit(const OperatorHandle& op) {
  return op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd);
}

bool is_composite(const OperatorHandle& op) {
  return is_composite_implicit(op) ||
         op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) ||
         op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional);
}

std::unique_ptr<Kernel> honest_kernel(const OperatorHandle& op) {
  const std::string name = qualified_name(op);
  if (const StackKernel kernel = find_device_kernel(name))
    return std::make_unique<DeviceKernel>(kernel);
  StackKernel host = find_host_kernel(name);
  if (host == nullptr && op.hasKernelForDispatchKey(DispatchKey::CPU)) host = &cpu_kernel;
  if (host == nullptr) return nullptr;
  if (const OwnKernel own = find_own_kernel(name))
    return std::make_unique<OwnOrderKernel>(host, own);
  if (has_values_to_round(op)) return std::make_unique<RoundOnceKernel>(host);
  return std::make_unique<AliasKernel>(host);
}

std::unique_ptr<Kernel> decomposition() { return std::make_unique<Decomposition>(); }

}  // namespace opreplay::sim
