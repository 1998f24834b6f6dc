#pragma once
/// Decides `when:` and `where:` of a fault for one call.

#include "harness/simdevice/call.h"
#include "harness/simdevice/fault.h"

namespace opreplay::sim {

/// Every condition of the fault holds. With `assume_backward`, conditions on the phase are taken
/// as if the call ran in a backward pass.
bool applies(const Fault& fault, const Call& call, bool assume_backward = false);

/// Which elements of `host` meet the test, as a bool tensor on the CPU.
/// Requires that the test names no property of whole tensors.
at::Tensor element_mask(const ElementTest& test, const at::Tensor& host);

/// Some, all, or a whole last-dim row of the elements meet the test. `call` gives the sizes that
/// indices are held against.
bool meets(const ElementTest& test, Range range, const at::Tensor& tensor, const Call& call);

}  // namespace opreplay::sim
