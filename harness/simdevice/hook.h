#pragma once
/// A kernel with faults: decides which apply to a call and lets them take place around the honest
/// kernel. Only outermost calls have faults; what a composite operator calls inside does not.

#include <memory>
#include <vector>

#include "harness/simdevice/fault.h"
#include "harness/simdevice/kernels.h"

namespace opreplay::sim {

/// How an operator reaches its kernel.
struct HookTraits {
  bool composite = false;    ///< the honest kernel is torch's decomposition
  bool bookkeeping = false;  ///< allocation, copies, views: never "the previous operator"
};

/// `faults` must outlive the kernel.
std::unique_ptr<Kernel> hooked(std::unique_ptr<Kernel> honest, std::vector<const Fault*> faults,
                               HookTraits traits);

/// A kernel that raises what the dispatcher raises where there is none.
std::unique_ptr<Kernel> missing_kernel();

}  // namespace opreplay::sim
