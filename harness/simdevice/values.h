#pragma once
/// Values that a fault file names and that depend on the tensor they go into.

#include <ATen/core/Tensor.h>

#include "harness/simdevice/fault.h"

namespace opreplay::sim {

/// The number that `value` means for elements of `dtype`; NaN is 0 and Inf the extreme value where
/// the dtype has none. Requires that the kind is not `first`.
c10::Scalar scalar_for(const FillValue& value, c10::ScalarType dtype);

/// `host` with every element of a class replaced. A new tensor.
at::Tensor with_classes_mapped(const ClassMap& map, const at::Tensor& host);

/// `host` with its mantissa rounded to `bits`, to nearest even; infinities and NaN stay.
at::Tensor with_mantissa(const at::Tensor& host, int bits);

}  // namespace opreplay::sim
