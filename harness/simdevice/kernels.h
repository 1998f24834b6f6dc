#pragma once
/// The kernels of the device, one object per registered operator.

#include <ATen/core/boxing/OperatorKernel.h>
#include <ATen/core/stack.h>
#include <c10/core/DispatchKeySet.h>

#include <memory>
#include <string>

namespace c10 {
class OperatorHandle;
}

namespace opreplay::sim {

/// A boxed kernel: takes the arguments of `op` off the stack, puts the results on it.
class Kernel : public c10::OperatorKernel {
 public:
  virtual void run(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                   torch::jit::Stack& stack) const = 0;
  /// The dispatcher's way in.
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) const {
    run(op, keys, *stack);
  }
};

/// "aten::sum.dim_IntList"
std::string qualified_name(const c10::OperatorHandle& op);

/// torch serves `op` on any backend by decomposing it.
bool is_composite(const c10::OperatorHandle& op);
/// ...above autograd: the inner calls are differentiated, not this one.
bool is_composite_implicit(const c10::OperatorHandle& op);

/// What an honest device registers for `op`; null where it registers nothing (the operator is
/// composite, or the device cannot do it).
std::unique_ptr<Kernel> honest_kernel(const c10::OperatorHandle& op);

/// torch's decomposition of a composite operator; its inner calls come back to the device.
std::unique_ptr<Kernel> decomposition();

}  // namespace opreplay::sim
