#pragma once
/// The class and value channels: one output of the target against its evidence.
/// Structure (shape, dtype, device, aliasing) is compared where the tensors are, in lib/torch.

#include <cstddef>
#include <span>

#include "lib/compare/error_model.h"
#include "opreplay/outcome.h"

namespace opreplay {

/// One result to be compared: dense row-major bytes of evidence.dtype.
struct Result {
  std::span<const std::byte> bytes;
};

/// Compares `target` with the reference under `bound`; fills every value and class field of the
/// comparison and keeps what `out` says of name and structure. `witness` is the CPU's result in T,
/// empty if there is none: it settles reductions over non-finite data and is what exact models
/// compare with (without one, exact models take the reference rounded to T). Requires target.bytes
/// to hold as many elements as the reference (exact: as the witness, where there is one).
/// The rule's attribute `overflow: intermediates` allows Inf where |r| > max_T/64 (sinh, cosh, i0,
/// hardswish, lgamma...).
OutputComparison compare(const Evidence& evidence, const Bound& bound, Result target,
                         Result witness, OutputComparison out = {});

}  // namespace opreplay
