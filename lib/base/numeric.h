#pragma once
/// Elements of any dtype to and from double: IEEE rounding to nearest even, done in integers so
/// that every compiler and every state of the floating-point unit (flush to zero) agrees.
/// Formats: IEEE 754-2019; bfloat16; OCP 8-bit floating point specification. e4m3fn has no
/// infinity: what overflows, infinity included, becomes its largest number, as in torch 2.13.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "opreplay/dtype.h"

namespace opreplay {

/// One element as double. i64/u64 beyond 2^53 round. Requires !is_complex(dtype).
double load_element(DType dtype, const std::byte* from);
/// Rounds `value` to the dtype and stores it. Integers: NaN becomes 0, others truncate and
/// saturate. Requires !is_complex(dtype).
void store_element(DType dtype, double value, std::byte* to);
/// `count` dense elements; a complex element gives two doubles (real, imaginary).
std::vector<double> load_elements(DType dtype, std::span<const std::byte> bytes);

/// The nearest number of the dtype, as store_element would store it.
double round_to(DType dtype, double value);

/// The dtype of one component: f32 for c64, the dtype itself if it is not complex.
DType component_type(DType dtype);

/// The value of an f16 bit pattern; inline for the hot loops.
double f16_value(std::uint16_t bits);

/// Spacing of the dtype's numbers at |value| (the gap to the next larger magnitude); at 0 and for
/// subnormals the smallest subnormal; beyond the largest number as if exponents went on; infinite
/// for infinities and NaN; 1 for integers. Source: Goldberg 1991, section 1.2.
double ulp(DType dtype, double value);

/// `ulp` with the dtype looked up once, for loops. Requires a floating dtype.
class Spacing {
 public:
  explicit Spacing(DType dtype)
      : precision_(static_cast<std::uint64_t>(float_format(dtype).precision)),
        min_field_(static_cast<std::uint64_t>(float_format(dtype).min_exponent + k_bias)) {}

  double at(double value) const {
    const std::uint64_t field = (std::bit_cast<std::uint64_t>(value) >> 52) & 0x7ff;
    if (field == 0x7ff) return std::numeric_limits<double>::infinity();
    const std::uint64_t exponent = std::max(field, min_field_);
    // The spacing of f64's small numbers is itself subnormal.
    if (exponent < precision_) return std::bit_cast<double>(std::uint64_t{1} << (exponent - 1));
    return std::bit_cast<double>((exponent - precision_ + 1) << 52);
  }

 private:
  static constexpr int k_bias = 1023;
  std::uint64_t precision_, min_field_;
};

inline double f16_value(std::uint16_t bits) {
  const std::uint64_t sign = std::uint64_t{bits} >> 15 << 63;
  const std::uint64_t field = (bits >> 10) & 0x1f;
  const std::uint64_t mantissa = bits & 0x3ff;
  double magnitude;
  if (field == 0)
    magnitude = static_cast<double>(mantissa) * 0x1p-24;
  else
    magnitude =
        std::bit_cast<double>(((field == 0x1f ? 0x7ff : field + 1008) << 52) | (mantissa << 42));
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) | sign);
}

}  // namespace opreplay
