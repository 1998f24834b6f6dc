#pragma once
/// Elements of any dtype to and from double: IEEE rounding to nearest even, done in integers so
/// that every compiler agrees.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "opreplay/dtype.h"

namespace opreplay {

/// One element as double. i64/u64 beyond 2^53 round. Requires !is_complex(dtype).
double load_element(DType dtype, const std::byte* from);
/// Rounds `value` to the dtype and stores it. Integers: NaN becomes 0, others truncate and
/// saturate.
void store_element(DType dtype, double value, std::byte* to);
/// `count` dense elements; a complex element gives two doubles (real, imaginary).
std::vector<double> load_elements(DType dtype, std::span<const std::byte> bytes);

/// Spacing of the dtype's numbers at |value| (the gap to the next larger magnitude); at 0 and for
/// subnormals the smallest subnormal. Source: Goldberg 1991, section 1.2.
double ulp(DType dtype, double value);

}  // namespace opreplay
